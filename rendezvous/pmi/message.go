package pmi

// message is one message of either version: a command and its fields, in order.
type message struct {
	command string
	fields  []field
}

type field struct{ key, value string }

// newMessage returns a message with fields of alternating keys and values.
func newMessage(command string, keysAndValues ...string) message {
	m := message{command: command}
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		m.fields = append(m.fields, field{keysAndValues[i], keysAndValues[i+1]})
	}
	return m
}

// lookup returns the value of the first field of that key.
func (m message) lookup(key string) (value string, ok bool) {
	for _, f := range m.fields {
		if f.key == key {
			return f.value, true
		}
	}
	return "", false
}

// get is lookup where a field that is missing is as good as an empty one.
func (m message) get(key string) string {
	value, _ := m.lookup(key)
	return value
}

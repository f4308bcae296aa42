package remote

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/internal/testhost/sshserver"
)

// person answers questions and remembers them.
type person struct {
	answers []string

	mu    sync.Mutex
	asked []Question
}

func (u *person) prompt(_ context.Context, q Question) ([]byte, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked = append(u.asked, q)
	if len(u.asked) > len(u.answers) {
		return nil, errors.New("nobody is there")
	}
	return []byte(u.answers[len(u.asked)-1]), nil
}

func TestQuestionsOfServers(t *testing.T) {
	const host = "127.0.0.1"
	token := []sshserver.Question{{Text: "User name: ", Echo: true, Answer: "eve"}, {Text: "Code\x1b[2J\r\n: ", Answer: "42"}}
	secret := Question{host, "tester's password:", false}
	tests := []struct {
		name    string
		server  sshserver.Config
		noKey   bool
		config  string
		answers []string
		asked   []Question
		want    string // of the error; "": let in
	}{
		{"a key is enough", sshserver.Config{Password: "p", Questions: token}, false, "", nil, nil, ""},
		{"a password", sshserver.Config{Password: "p"}, true, "", []string{"p"}, []Question{secret}, ""},
		{"a password at the second time", sshserver.Config{Password: "p"}, true, "", []string{"q", "p"}, []Question{secret, secret}, ""},
		{"three wrong passwords", sshserver.Config{Password: "p"}, true, "", []string{"a", "b", "c", "p"}, []Question{secret, secret, secret},
			"user tester was not let in: the answers were not accepted; "},
		{"questions, one echoed, the text made harmless", sshserver.Config{Questions: token, Instruction: "Welcome"}, true, "", []string{"eve", "42"},
			[]Question{{host, "Welcome User name:", true}, {host, "Code [2J :", false}}, ""},
		{"a key and a code", sshserver.Config{Questions: token[1:], BothFactors: true}, false, "", []string{"42"}, []Question{{host, "Code [2J :", false}}, ""},
		{"a key and a wrong code", sshserver.Config{Questions: token[1:], BothFactors: true}, false, "NumberOfPasswordPrompts 1", []string{"1"},
			[]Question{{host, "Code [2J :", false}}, "the server accepts keyboard-interactive; "},
		{"nobody to answer", sshserver.Config{Password: "p"}, true, "", nil, []Question{secret}, "no such file or directory; nobody is there; the server accepts"},
		{"BatchMode", sshserver.Config{Password: "p"}, true, "BatchMode yes", nil, nil, "no key to try"},
		{"PasswordAuthentication no", sshserver.Config{Password: "p"}, true, "PasswordAuthentication no", nil, nil, "no key to try"},
		{"KbdInteractiveAuthentication no", sshserver.Config{Questions: token}, true, "KbdInteractiveAuthentication no", nil, nil, "no key to try"},
		{"PreferredAuthentications", sshserver.Config{Password: "p"}, false, "PreferredAuthentications gssapi-with-mic,password,publickey", []string{"p"}, []Question{secret}, ""},
		{"PubkeyAuthentication no", sshserver.Config{}, false, "PubkeyAuthentication no", nil, nil, "the server accepts publickey"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := sshserver.Start(t, tt.server)
			configure(t, s.Host, tt.config)
			if tt.noKey {
				require.NoError(t, os.Remove(s.Key))
				require.NoError(t, os.Remove(s.Key+".pub"))
			}
			u := &person{answers: tt.answers}
			err := dial(t, s.Host, SSH{Prompt: u.prompt})
			require.Equal(t, tt.asked, u.asked)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			requireStep(t, err, StepLogin)
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), "\n")
			require.Equal(t, 1, s.Connections(), "what was rejected is not tried again")
		})
	}
}

func TestNumberOfPrompts(t *testing.T) {
	for _, v := range []string{"many", "-1", "101"} {
		s := sshserver.Start(t, sshserver.Config{})
		configure(t, s.Host, "NumberOfPasswordPrompts "+v)
		require.ErrorContains(t, dial(t, s.Host, SSH{}), ":1: NumberOfPasswordPrompts: expected 0 to 100, found \""+v+"\"")
	}
}

package main

// reserved are the flags that are not built yet, each with the words that
// follow it. They are refused by name, so that a script means the same once
// they are built.
var reserved = []string{
	"stack-traces",
}

// flagNotBuilt refuses a reserved flag and offers the line without it.
func flagNotBuilt(l line, s setting) error {
	words := 1
	if !s.joined {
		words += min(s.form.arity(), len(l.words)-s.at-1)
	}
	return refusal(s.as+" is not built yet", "without it: "+l.with(s.at, words))
}

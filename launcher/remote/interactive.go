package remote

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/crypto/ssh"
)

// The methods of authentication that we have, in OpenSSH's order.
const (
	methodKey         = "publickey"
	methodInteractive = "keyboard-interactive" // RFC 4256: the server asks what it likes
	methodPassword    = "password"
)

// maxPrompts bounds NumberOfPasswordPrompts. Servers hang up earlier.
const maxPrompts = 100

// setMethods fills in how the user may be authenticated.
func (s *settings) setMethods(e *evaluation) error {
	s.Batch = isYes(e.first("batchmode"))
	s.Prompts = 3 // OpenSSH's default
	if v := e.first("numberofpasswordprompts"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 || n > maxPrompts {
			return fmt.Errorf("%s: NumberOfPasswordPrompts: expected 0 to %d, found %q", e.pos("numberofpasswordprompts"), maxPrompts, v)
		}
		s.Prompts = n
	}
	s.Methods = []string{methodKey, methodInteractive, methodPassword}
	if v := e.first("preferredauthentications"); v != "" {
		ours := s.Methods
		s.Methods = slices.DeleteFunc(strings.Split(v, ","), func(m string) bool { return !slices.Contains(ours, m) })
	}
	for _, off := range []struct{ keyword, method string }{
		{"pubkeyauthentication", methodKey},
		{"kbdinteractiveauthentication", methodInteractive},
		{"challengeresponseauthentication", methodInteractive}, // its older name
		{"passwordauthentication", methodPassword},
	} {
		if isNo(e.first(off.keyword)) {
			s.Methods = slices.DeleteFunc(s.Methods, func(m string) bool { return m == off.method })
		}
	}
	return nil
}

// prompt returns the function that asks the user, or nil.
func (h *handshake) prompt() func(context.Context, Question) ([]byte, error) {
	if h.settings.Batch {
		return nil
	}
	return h.dialer.conf.Prompt
}

// methods returns how the user is authenticated, in order. Those that are asked
// for more than one at a time, as a key and then a code, are each given when the
// server wants it.
func (h *handshake) methods() (methods []ssh.AuthMethod) {
	for _, m := range h.settings.Methods {
		switch {
		case m == methodKey:
			methods = append(methods, ssh.PublicKeysCallback(h.keys))
		case h.prompt() == nil || h.settings.Prompts == 0:
		case m == methodInteractive:
			methods = append(methods, ssh.RetryableAuthMethod(ssh.KeyboardInteractive(h.answer), h.settings.Prompts))
		case m == methodPassword:
			methods = append(methods, ssh.RetryableAuthMethod(ssh.PasswordCallback(h.password), h.settings.Prompts))
		}
	}
	return methods
}

// answer puts a server's questions to the user.
func (h *handshake) answer(name, instruction string, questions []string, echos []bool) ([]string, error) {
	answers := make([]string, len(questions))
	for i, question := range questions {
		if i == 0 {
			question = name + " " + instruction + " " + question
		}
		answer, err := h.ask(question, echos[i])
		if err != nil {
			return nil, err
		}
		answers[i] = answer
	}
	return answers, nil
}

func (h *handshake) password() (string, error) {
	return h.ask(h.settings.User+"'s password:", false)
}

// ask puts one question to the user. A server's text is shown on a terminal, so
// that it must not move the cursor or hide what stands there.
func (h *handshake) ask(text string, echo bool) (string, error) {
	visible := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	h.mu.Lock()
	h.auth.Asked = true
	h.mu.Unlock()
	answer, err := h.prompt()(h.ctx, Question{
		Host: h.settings.Name,
		Text: strings.Join(strings.Fields(visible), " "),
		Echo: echo,
	})
	if err != nil {
		h.mu.Lock()
		if !slices.Contains(h.auth.Trouble, err.Error()) {
			h.auth.Trouble = append(h.auth.Trouble, err.Error())
		}
		h.mu.Unlock()
		return "", err
	}
	defer clear(answer)
	return string(answer), nil
}

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestComplete(t *testing.T) {
	tests := []struct {
		line string // the last word, which may be empty, is completed
		kind string
		want string // words that are proposed
	}{
		{"ru", "commands", "run"},
		{"--loc", "", "--local"},
		{"-loc", "", "--local"},
		{"--host", "", "--hostfile --host --hosts"},
		{"--local ", "", "auto never"},
		{"--export l", "", "listed"},
		{"--local=ne", "", "--local=never"},
		{"--nosuch ", "commands", ""},
		{"--nosuch=1 --loc", "", "--local"},
		{"-genv ", "variables", ""},
		{"-genv A ", "", ""},
		{"-genv A 1 --loc", "", "--local"},
		{"-bynode --loc", "", "--local"},
		{"-hostfile ", "files", ""},
		{"-wdir ", "folders", ""},
		{"-np 2 ", "commands", ""},
		{"-np 2 ./train ", "program 2", ""},
		{"-np 2 ./train -np ", "program 2", ""},
		{"-np 2 ./train : ", "commands", ""},
		{"-np 2 ./train : -np 1 ls -", "program 6", ""},
		{"-np 2 -- ", "commands", ""},
		{"-np 2 -- ls : ", "program 3", ""},
		{"run --loc", "", "--local"},
		{"run ./x ", "program 1", ""},
		{"help --loc", "", "--local"},
		{"help loc", "", "--local"},
		{"completion ", "", "bash zsh fish"},
	}
	for _, test := range tests {
		t.Run(test.line, func(t *testing.T) {
			p := complete(strings.Split(test.line, " "))
			var words []string
			for _, word := range p.words {
				words = append(words, word[0])
			}
			require.Equal(t, test.kind, p.kind)
			require.Equal(t, strings.Fields(test.want), append([]string{}, words...))
		})
	}
}

func TestManualHasNoStrayRequests(t *testing.T) {
	for text, want := range map[string]string{
		".a":       `\&.a`,
		"'a":       `\&'a`,
		"a\n.b":    "a\n\\&.b",
		`a\b -n …`: `a\eb \-n \&...`,
	} {
		require.Equal(t, want, roff(text))
	}
}

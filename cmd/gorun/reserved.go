package main

import "strings"

// reserved are the flags that are not built yet, each with the words that
// follow it. They are refused by name, so that a script means the same once
// they are built.
var reserved = []string{
	"nnodes N",
	"exclude LIST",
	"nolocal",
	"preflight",
	"cpus-per-rank N",
	"rank-by slot|node",
	"bind-to WHAT",
	"report-bindings",
	"gpus-per-rank N|auto",
	"gpu-visible all|own",
	"json",
	"show-env RANK",
	"stack-traces",
	"strict",
}

// instead is what comes near a reserved flag.
var instead = map[string]string{
	"rank-by": "--map-by node",
}

// flagNotBuilt refuses a reserved flag and offers the line without it.
func flagNotBuilt(l line, s setting) error {
	words := 1
	if !s.joined {
		words += min(s.form.arity(), len(l.words)-s.at-1)
	}
	hints := []string{"without it: " + l.with(s.at, words)}
	if near := instead[strings.TrimLeft(s.as, "-")]; near != "" {
		hints = append([]string{"what there is: " + near}, hints...)
	}
	return refusal(s.as+" is not built yet", hints...)
}

package main

import "strings"

// dialects are flags of other launchers that have other words behind them than
// ours, or mean several of ours.
var dialects = []form{
	{[]string{"pernode"}, "", always("--N=1")},
	{[]string{"env"}, "NAME VALUE", variable("--x=")},
	{[]string{"genv"}, "NAME VALUE", variable("--set-env=")},
	{[]string{"prepend-pattern"}, "PATTERN", func(values []string) ([]string, error) {
		tag, err := hydraTag(values[0])
		return []string{"--tag=" + tag}, err
	}},
	{[]string{"output"}, "DIRECTIVES", outputDirectives},
	{[]string{"outfile-pattern", "errfile-pattern"}, "PATTERN", func([]string) ([]string, error) {
		return nil, &valueError{"--output-dir DIR and --output-only instead, which write a file for each rank and stream", "out"}
	}},
	{[]string{"genvlist", "envlist"}, "NAME,…", func(values []string) ([]string, error) {
		ours := []string{"--export=listed"}
		for name := range strings.SplitSeq(values[0], ",") {
			ours = append(ours, "--x="+name)
		}
		return ours, nil
	}},
	{[]string{"genvall", "envall"}, "", always("--export=all")},
	{[]string{"genvnone", "envnone"}, "", always("--export=none")},
}

// variable is what the name of a variable and its value mean in our form.
func variable(ours string) func([]string) ([]string, error) {
	return func(values []string) ([]string, error) {
		if !variableName(values[0], false) {
			return nil, &valueError{"the name of a variable and its value", "NCCL_DEBUG INFO"}
		}
		return []string{ours + values[0] + "=" + values[1]}, nil
	}
}

// always is what a switch means in our form.
func always(ours string) func([]string) ([]string, error) {
	return func([]string) ([]string, error) { return []string{ours}, nil }
}

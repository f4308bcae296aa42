package template_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun/gorun/launcher/template"
	"github.com/gorun/gorun/rankenv"
)

var world = rankenv.World{Rank: 9, Size: 16, LocalRank: 1, Host: "n2", Job: "j1"}

func TestFill(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "",
		"plain }":                          "plain }",
		"{rank}/{world_size}":              "9/16",
		"{host}.{local_rank}.{job}.log":    "n2.1.j1.log",
		"{rank}{rank}":                     "99",
		`{{"a": {rank}}`:                   `{"a": 9}`,
		"{{rank}":                          "{rank}",
		"{{{rank}":                         "{9",
		"$HOME/${{rank}":                   "$HOME/${rank}",
		strings.Repeat("{{", 3) + "ü{job}": "{{{üj1",
	} {
		got, err := template.Fill(text, world)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
		require.NoError(t, template.Check(text))
	}
}

func TestFillRefuses(t *testing.T) {
	const expected = "expected {rank}, {local_rank}, {host}, {world_size}, {job}, or {{ for a brace, found "
	for text, want := range map[string]string{
		"x.{rnk}":    `"x.{rnk}": column 3: ` + expected + `"{rnk}"`,
		"{rank":      `"{rank": column 1: ` + expected + `"{rank"`,
		"{}":         `"{}": column 1: ` + expected + `"{}"`,
		`{"a": 1}`:   `"{\"a\": 1}": column 1: ` + expected + `"{\"a\": 1}"`,
		"{{{Rank}":   `"{{{Rank}": column 3: ` + expected + `"{Rank}"`,
		"{rank}{":    `"{rank}{": column 7: ` + expected + `"{"`,
		"{ rank }":   `"{ rank }": column 1: ` + expected + `"{ rank }"`,
		"{{}{world}": `"{{}{world}": column 4: ` + expected + `"{world}"`,
	} {
		_, err := template.Fill(text, world)
		require.EqualError(t, err, want)
		require.EqualError(t, template.Check(text), want)
	}
}

func FuzzFill(f *testing.F) {
	f.Add("{rank}{{}{job}")
	f.Add("{")
	f.Fuzz(func(t *testing.T, text string) {
		filled, err := template.Fill(text, rankenv.World{})
		if err != nil {
			require.IsType(t, &template.Error{}, err)
			return
		}
		again, err := template.Fill(strings.ReplaceAll(filled, "{", "{{"), world)
		require.NoError(t, err)
		require.Equal(t, filled, again)
	})
}

func ExampleFill() {
	name, err := template.Fill("loss.{rank}-of-{world_size}.csv", rankenv.World{Rank: 3, Size: 8})
	fmt.Println(name, err)
	// Output: loss.3-of-8.csv <nil>
}

package envfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gorun/gorun/internal/envfile"
)

// entries are the variables without their places.
func entries(vars []envfile.Variable) (list []string) {
	for _, v := range vars {
		list = append(list, v.Entry)
	}
	return list
}

func TestVariablesHavePlaces(t *testing.T) {
	vars, err := envfile.Parse("vars", "# x\nA='1\n2'\n\nB=3")
	require.NoError(t, err)
	require.Equal(t, []envfile.Variable{{Entry: "A=1\n2", Line: 2}, {Entry: "B=3", Line: 5}}, vars)
}

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"nothing":                         {"", nil},
		"no newline at the end":           {"A=1", []string{"A=1"}},
		"in order, also twice":            {"B=2\nA=1\nB=3\n", []string{"B=2", "A=1", "B=3"}},
		"comments and empty lines":        {"# x=1\n\n  # y\nA=1 # why\nB=a#b\nC=# all of it\n", []string{"A=1", "B=a#b", "C="}},
		"blanks around":                   {"  A = a b \t\nexport  B=1\n", []string{"A=a b", "B=1"}},
		"lines of DOS, and its mark":      {"\ufeffA=1\r\nB='2'\r\n", []string{"A=1", "B=2"}},
		"an equals sign in a value":       {"A=b=c\n", []string{"A=b=c"}},
		"a quotation mark inside a value": {"A=it's\nJ={\"a\": 1}\n", []string{"A=it's", `J={"a": 1}`}},
		"as it is in single marks":        {`A='$HOME \n "q" # no comment' # one` + "\n", []string{`A=$HOME \n "q" # no comment`}},
		"escaped in double marks":         {`A="a\tb\n\"\\\$\` + "`" + `"`, []string{"A=a\tb\n\"\\$`"}},
		"several lines":                   {"A=\"l1\nl2\"\nB='l1\n\nl3'\nC=1", []string{"A=l1\nl2", "B=l1\n\nl3", "C=1"}},
		"a function of bash":              {"BASH_FUNC_ml%%='() { :; }'", []string{"BASH_FUNC_ml%%=() { :; }"}},
	} {
		t.Run(name, func(t *testing.T) {
			vars, err := envfile.Parse("vars", c.text)
			require.NoError(t, err)
			require.Equal(t, c.want, entries(vars))
		})
	}
}

func TestParseSaysWhereItStopped(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no value":                    {"A=1\n\nB\n", `vars:3: expected NAME=value, found "B"`},
		"no name":                     {"=1\n", `vars:1: expected NAME=value, found "=1"`},
		"a blank in the name":         {"A B=1\n", `vars:1: expected NAME=value, found "A B=1"`},
		"a digit first":               {"1A=1\n", `vars:1: expected NAME=value, found "1A=1"`},
		"a long line":                 {strings.Repeat("x", 99), `vars:1: expected NAME=value, found "` + strings.Repeat("x", 40) + `…"`},
		"no end, from where it began": {"A=1\nB=\"x\ny\n", `vars:2: expected the value's end, ", found the end of the file`},
		"more behind the mark":        {"A='1' 2\n", `vars:1: expected nothing but a comment behind the quotation mark, found "2"`},
		"more behind several lines":   {"A='1\n2' 3\n", `vars:2: expected nothing but a comment behind the quotation mark, found "3"`},
		"an unknown escape":           {"A=\"1\n\\x\"\n", `vars:2: expected one of \n \r \t \" \\ \$ \` + "`" + `, found "\\x"`},
		"no text":                     {"A=1\nB=\x00\n", `vars:2: expected text, found a byte of value 0`},
		"no text in quotation marks":  {"A='\n\x00'\n", `vars:2: expected text, found a byte of value 0`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := envfile.Parse("vars", c.text)
			require.EqualError(t, err, c.want)
			require.IsType(t, &envfile.SyntaxError{}, err)
		})
	}
}

func TestReadBoundsTheFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "vars")
	require.NoError(t, os.WriteFile(name, []byte("A=1\n"), 0o600))
	vars, err := envfile.Read(name)
	require.NoError(t, err)
	require.Equal(t, []string{"A=1"}, entries(vars))

	require.NoError(t, os.Truncate(name, envfile.MaxSize+1))
	_, err = envfile.Read(name)
	require.ErrorContains(t, err, "at most")
}

func TestParseReadsFormat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_%]{0,9}`).Draw(t, "name")
		value := strings.ReplaceAll(rapid.String().Draw(t, "value"), "\x00", "")
		value += rapid.StringMatching("[ab \t\r\n\"'\\\\#$`]{0,9}").Draw(t, "end")
		entry := name + "=" + value
		got, err := envfile.Parse("vars", envfile.Format(entry)+"\n")
		require.NoError(t, err)
		require.Equal(t, []string{entry}, entries(got))
	})
}

func FuzzParse(f *testing.F) {
	f.Add("# c\nexport A=1\nB='x\ny' # z\nC=\"\\n\\\"\"\r\n")
	f.Add("A=\"")
	f.Add("\ufeff=\n")
	f.Add("A=b c # d\n\nE=#")
	f.Fuzz(func(t *testing.T, text string) {
		vars, err := envfile.Parse("vars", text)
		if err != nil {
			require.Empty(t, vars)
			return
		}
		var again strings.Builder
		for _, entry := range entries(vars) {
			require.NotContains(t, entry, "\x00")
			again.WriteString(envfile.Format(entry) + "\n")
		}
		reread, err := envfile.Parse("vars", again.String())
		require.NoError(t, err)
		require.Equal(t, entries(vars), entries(reread))
	})
}

package main

import (
	"cmp"
	"errors"
	"flag"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"callboard/internal/run/setting"
	"callboard/internal/runprojector"
	"callboard/internal/runreadapi"
	"callboard/internal/runwebhooks"
)

//nolint:gochecknoglobals // a flag
var update = flag.Bool("update", false, "write the table of deploy/settings.md")

// settingsTable lists the settings of programs, in the order of their help.
type settingsTable struct {
	names    []string
	programs map[string][]string   // by name
	flags    map[string]*kong.Flag // by name, of the first program
}

// add adds the settings of a program.
func (s *settingsTable) add(t *testing.T, name string, program any, vars kong.Vars) {
	t.Helper()
	visit := func(node kong.Visitable, next kong.Next) error {
		f, isFlag := node.(*kong.Flag)
		if isFlag && f.Tag.Has("setting") {
			variable := "CALLBOARD_" + strings.ToUpper(strings.ReplaceAll(cmp.Or(f.Tag.Get("setting"), f.Name), "-", "_"))
			if s.flags[variable] == nil {
				s.names, s.flags[variable] = append(s.names, variable), f
			}
			if !slices.Contains(s.programs[variable], name) {
				s.programs[variable] = append(s.programs[variable], name)
			}
		}
		return next(nil)
	}
	help := kong.Help(func(_ kong.HelpOptions, c *kong.Context) error { return kong.Visit(c.Model, visit) })

	source := setting.Source{Args: []string{"--help"}, Getenv: func(string) string { return "" }, Out: io.Discard}
	if _, err := setting.Parse(program, source, vars, help); !errors.Is(err, setting.ErrHelp) {
		t.Fatalf("help of %s: %v", name, err)
	}
}

// String is the table in Markdown.
func (s *settingsTable) String() string {
	var b strings.Builder
	for _, name := range s.names {
		f := s.flags[name]
		text := "`" + name + "`"
		if f.Tag.Has("secret") {
			text = "`" + name + "[_FILE]`"
		}
		value := ""
		if f.Default != "" {
			value = "`" + f.Default + "`"
		}
		b.WriteString("| " + strings.Join([]string{text, strings.Join(s.programs[name], ", "), value, f.Help}, " | ") + " |\n")
	}
	return b.String()
}

// The table of deploy/settings.md lists the settings of all programs. -update writes it.
func TestSettingsPage(t *testing.T) {
	t.Parallel()
	s := settingsTable{programs: make(map[string][]string), flags: make(map[string]*kong.Flag)}
	admin := kong.Vars{"admin_listen": "127.0.0.1:9090"}
	s.add(t, "readapi", &runreadapi.Program{}, admin)
	s.add(t, "projector", &runprojector.Program{}, admin)
	s.add(t, "webhooks", &runwebhooks.Program{}, admin)
	s.add(t, "callboard", &commands{}, commandVars())

	const page, head = "../../deploy/settings.md", "| setting | used by | default | meaning |\n|---|---|---|---|\n"
	text, err := os.ReadFile(page)
	before, rest, found := strings.Cut(string(text), head)
	if err != nil || !found {
		t.Fatalf("%s: %v, want a table %s", page, err, head)
	}
	_, after, _ := strings.Cut(rest, "\n\n")
	want := before + head + s.String() + "\n" + after
	if *update {
		err = os.WriteFile(page, []byte(want), 0o644) //nolint:gosec // everyone may read it
	} else if string(text) != want {
		t.Errorf("%s differs from the programs' settings: run this test with -update", page)
	}
	if err != nil {
		t.Error(err)
	}
}

package monitoring_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pages are the paths of the operators' pages.
func pages(tb testing.TB) []string {
	tb.Helper()
	paths, err := filepath.Glob(root + "/deploy/*.md")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("pages = %d, %v, want some", len(paths), err)
	}
	return paths
}

var (
	// shellBlock is a block of commands; in a list it is indented.
	shellBlock = regexp.MustCompile("(?ms)^( *)```sh\n(.*?)```")
	// inline is a command of callboard in the text.
	inline = regexp.MustCompile("`callboard ([a-z][^`]*)`")
	// word is a part of the name of a command.
	word = regexp.MustCompile(`^[a-z][a-z-]*$`)
	flag = regexp.MustCompile(`--[a-z][a-z-]*`)
)

// others are the programs of others that the pages run.
func others() []string {
	return []string{"curl", "df", "docker", "echo", "export", "jq", "kubectl", "make", "nats", "nats-server", "openssl", "pg_basebackup", "psql", "sed"}
}

// commandsOf are the commands of callboard in a text, without its name. Programs that are neither callboard nor
// known are unknown.
func commandsOf(text string) (commands, unknown []string) {
	for _, match := range inline.FindAllStringSubmatch(text, -1) {
		commands = append(commands, match[1])
	}
	for _, block := range shellBlock.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(strings.ReplaceAll(block[2], "\\\n", " ")) {
			line = strings.TrimPrefix(line, block[1])
			line, _, _ = strings.Cut(line, " #")
			fields := strings.Fields(line)
			if len(fields) == 0 || strings.HasPrefix(line, " ") { // a line of a quoted text
				continue
			}
			switch {
			case fields[0] == "callboard":
				commands = append(commands, strings.Join(fields[1:], " "))
			case !slices.Contains(others(), fields[0]) && !strings.Contains(fields[0], "="): // a variable
				unknown = append(unknown, fields[0])
			}
		}
	}
	return commands, unknown
}

// Every command of callboard on an operators' page exists, with its flags.
func TestPages_Commands(t *testing.T) {
	t.Parallel()
	help := make(map[string]string)
	helpOf := func(name string) string {
		if text, known := help[name]; known {
			return text
		}
		output, err := exec.CommandContext(t.Context(), programs.Path(t, "callboard"), append(strings.Fields(name), "--help")...).CombinedOutput()
		help[name] = string(output)
		if err != nil {
			t.Errorf("callboard %s --help: %v\n%s", name, err, output)
		}
		return help[name]
	}
	checked := 0
	for _, path := range pages(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		commands, unknown := commandsOf(string(text))
		for _, other := range unknown {
			t.Errorf("%s runs %s, which is neither callboard nor listed in this test", path, other)
		}
		for _, command := range commands {
			name := nameOf(command, helpOf(""))
			if name == "" {
				t.Errorf("%s: there is no command %q", path, "callboard "+command)
				continue
			}
			for _, f := range flag.FindAllString(command, -1) {
				if !regexp.MustCompile(f + `[\s=\[]`).MatchString(helpOf(name)) {
					t.Errorf("%s: callboard %s has no flag %s", path, name, f)
				}
			}
			checked++
		}
	}
	if checked < 100 {
		t.Errorf("commands checked = %d, want at least 100: the pages are not read as they are written", checked)
	}
}

// nameOf is the name of a command, of one word or two; empty: callboard's help has no such command. A word with
// which the names of several commands begin, such as keys, counts as a command when it stands alone.
func nameOf(command, help string) string {
	var words []string
	for _, field := range strings.Fields(command) {
		if len(words) == 2 || !word.MatchString(field) {
			break
		}
		words = append(words, field)
	}
	if len(words) == 0 || !regexp.MustCompile(`(?m)^  `+strings.Join(words, " ")+`\s`).MatchString(help) {
		return ""
	}
	return strings.Join(words, " ")
}

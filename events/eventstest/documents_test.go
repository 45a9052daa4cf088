package eventstest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the module's folder.
const root = "../.."

// unchecked are files that name retired terms on purpose: the list itself, the changelog, and migrations, which never change, with their test.
func unchecked() []string {
	return []string{"events/eventstest/testdata/retired.txt", "CHANGELOG.md", "schema/control", "schema/migration_test.go", "events/eventstest/documents_test.go"}
}

// retired is a term that must not come back: an identifier, matched as a whole word in its case, or a phrase, matched in any case.
type retired struct {
	term    string
	phrase  bool
	pattern *regexp.Regexp
}

func retire(term string) retired {
	r := retired{term: term, phrase: strings.Contains(term, " ")}
	if r.phrase {
		term = strings.ToLower(term)
	}
	r.pattern = regexp.MustCompile(`\b` + regexp.QuoteMeta(term) + `\b`)
	return r
}

// readRetired reads the list: one term per line.
func readRetired(tb testing.TB) []retired {
	tb.Helper()
	text, err := os.ReadFile("testdata/retired.txt")
	if err != nil {
		tb.Fatal(err)
	}
	var list []retired
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			list = append(list, retire(line))
		}
	}
	return list
}

// found returns the retired terms in a text. Phrases are found across line ends and comment marks.
func found(text string, list []retired) []string {
	words := slices.DeleteFunc(strings.Fields(strings.ToLower(text)), func(word string) bool {
		return word == "//" || word == "--" || word == "#" || word == "*"
	})
	prose := strings.Join(words, " ")
	var terms []string
	for _, r := range list {
		where, term := text, r.term
		if r.phrase {
			where, term = prose, strings.ToLower(r.term)
		}
		// Looking for the plain string first is ten times as fast.
		if strings.Contains(where, term) && r.pattern.MatchString(where) {
			terms = append(terms, r.term)
		}
	}
	return terms
}

// checked calls visit for every file whose wording is checked.
func checked(tb testing.TB, visit func(path, text string)) {
	tb.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch {
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "bin" || entry.Name() == "rapid"),
			entry.IsDir() && slices.Contains(unchecked(), name):
			return filepath.SkipDir
		case entry.IsDir() || slices.Contains(unchecked(), name):
			return nil
		}
		switch filepath.Ext(name) {
		case ".go", ".sql", ".md", ".json", ".yaml", ".yml", ".txt", ".html", ".js", ".mjs", ".py", ".css", ".conf", ".cfg", ".sh", ".Dockerfile", "":
			text, err := os.ReadFile(path)
			visit(name, string(text))
			return err
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
}

func TestWording_NoRetiredTerms(t *testing.T) {
	list := readRetired(t)
	files := 0
	checked(t, func(path, text string) {
		files++
		for _, term := range found(path+"\n"+text, list) {
			t.Errorf("%s has %q, which is retired: ARCHITECTURE.md's glossary has the term in use", path, term)
		}
	})
	if files < 200 || len(list) == 0 {
		t.Errorf("files checked = %d, terms = %d: the walk or the list is broken", files, len(list))
	}
}

func TestWording_FindsRetiredTerms(t *testing.T) {
	list := []retired{retire("clock_lift"), retire("stood still")}
	for text, want := range map[string][]string{
		"select from control.clock_lift": {"clock_lift"},
		"clock_lifted, Clock_lift":       nil,
		"// Commits stood\n\t// still.":  {"stood still"},
		"-- Stood still":                 {"stood still"},
		"understood stillness":           nil,
	} {
		if got := found(text, list); !slices.Equal(got, want) {
			t.Errorf("found(%q) = %q, want %q", text, got, want)
		}
	}
}

// Every link between documents leads to a file, and to a heading of it.
func TestDocuments_Links(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	checked(t, func(path, text string) {
		if filepath.Ext(path) != ".md" {
			return
		}
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			target, heading, _ := strings.Cut(match[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			file := filepath.Join(root, path)
			if target != "" {
				file = filepath.Join(root, filepath.Dir(path), target)
			}
			content, err := os.ReadFile(file)
			if err != nil {
				if info, dirErr := os.Stat(file); dirErr != nil || !info.IsDir() {
					t.Errorf("%s: link to %s: %v", path, match[1], err)
				}
				continue
			}
			if heading != "" && !slices.Contains(headings(string(content)), heading) {
				t.Errorf("%s: link to %s: no such heading", path, match[1])
			}
		}
	})
}

// headings are the anchors of a document's headings, as the usual hosts make them.
func headings(text string) []string {
	drop := regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
	var list []string
	for line := range strings.Lines(text) {
		if title := strings.TrimLeft(line, "#"); len(title) < len(line) && strings.HasPrefix(title, " ") {
			title = drop.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
			list = append(list, strings.ReplaceAll(title, " ", "-"))
		}
	}
	return list
}

// Documents name files, folders and tests of the tree.
func TestDocuments_Names(t *testing.T) {
	path := regexp.MustCompile("`((?:cmd|deploy|events|projector|readapi|schema)/[A-Za-z0-9_./-]+)`")
	test := regexp.MustCompile(`\bTest[A-Z][A-Za-z0-9]*(_[A-Za-z0-9_]+)?\b`)
	var code strings.Builder
	documents := map[string]string{}
	checked(t, func(path, text string) {
		if strings.HasSuffix(path, "_test.go") {
			code.WriteString(text)
		} else if filepath.Ext(path) == ".md" {
			documents[path] = text
		}
	})
	for document, text := range documents {
		for _, match := range path.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(root, match[1])); err != nil && !strings.HasSuffix(match[1], "...") {
				t.Errorf("%s names %s: %v", document, match[1], err)
			}
		}
		for _, name := range test.FindAllString(text, -1) {
			if !strings.Contains(code.String(), "func "+name+"(") {
				t.Errorf("%s names the test %s, which does not exist", document, name)
			}
		}
	}
}

// README and the operators' pages are short, and wrapped except for tables and commands.
func TestDocuments_Length(t *testing.T) {
	pages := 0
	checked(t, func(path, text string) {
		if path == "README.md" || strings.HasPrefix(path, "deploy/") && filepath.Ext(path) == ".md" {
			pages++
			checkLength(t, path, text)
		}
	})
	if pages < 30 {
		t.Errorf("pages = %d, want 30 or more: the walk is broken", pages)
	}
}

func checkLength(t *testing.T, path, text string) {
	t.Helper()
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > 200 {
		t.Errorf("%s: lines = %d, want at most 200", path, len(lines))
	}
	code := false
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") {
			code = !code
		}
		if n := len([]rune(line)); n > 120 && !code && !strings.HasPrefix(trimmed, "|") {
			t.Errorf("%s: line %d has %d characters, want at most 120", path, i+1, n)
		}
	}
}

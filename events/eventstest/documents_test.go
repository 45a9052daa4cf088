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

// documents returns the Markdown files of the tree, by name.
func documents(tb testing.TB) map[string]string {
	tb.Helper()
	found := make(map[string]string)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		found[name] = string(text)
		return err
	})
	if err != nil || len(found) < 10 {
		tb.Fatalf("documents = %d, %v: the walk is broken", len(found), err)
	}
	return found
}

// Every link between documents leads to a file, and to a heading of it.
func TestDocuments_Links(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for path, text := range documents(t) {
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
	}
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

// Documents name files and folders of the tree.
func TestDocuments_Names(t *testing.T) {
	path := regexp.MustCompile("`((?:cmd|deploy|events|projector|readapi|schema)/[A-Za-z0-9_./-]+)`")
	for document, text := range documents(t) {
		for _, match := range path.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(root, match[1])); err != nil && !strings.HasSuffix(match[1], "...") {
				t.Errorf("%s names %s: %v", document, match[1], err)
			}
		}
	}
}

package image

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, name)) //nolint:gosec // a file of the repository
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// The two Dockerfiles differ only in where the programs come from.
func TestDockerfiles_HaveTheSameImages(t *testing.T) {
	t.Parallel()
	const start = "\nFROM scratch AS program\n"
	_, built, found := strings.Cut(read(t, "deploy/Dockerfile"), start)
	_, prebuilt, foundToo := strings.Cut(read(t, "deploy/prebuilt.Dockerfile"), start)
	if !found || !foundToo {
		t.Fatalf("a Dockerfile has no line %q", start)
	}
	got := strings.ReplaceAll(strings.ReplaceAll(built, "--from=build ", ""), " /image/", " ")
	if got != prebuilt {
		t.Errorf("images of deploy/Dockerfile, without its build stage =\n%s\nwant those of deploy/prebuilt.Dockerfile:\n%s", got, prebuilt)
	}
}

func TestMakefile_BuildsAsTheDockerfile(t *testing.T) {
	t.Parallel()
	command := func(file string) string {
		match := regexp.MustCompile(`CGO_ENABLED=0 [^\n]*go build (?:[^\n]*\\\n)*[^\n]*`).FindString(read(t, file))
		match = strings.NewReplacer("\\\n", " ", "GOOS=linux ", "", "-o bin/image/", "-o /image/").Replace(match)
		return strings.Join(strings.Fields(match), " ")
	}
	if got, want := command("Makefile"), command("deploy/Dockerfile"); got != want || got == "" {
		t.Errorf("command of the Makefile = %q, want that of deploy/Dockerfile: %q", got, want)
	}
}

// A tracked file that the build context lacks would mark the programs as modified.
func TestDockerignore_HasNoTrackedFile(t *testing.T) {
	t.Parallel()
	requireRepository(t)
	for line := range strings.Lines(read(t, ".dockerignore")) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if tracked := output(t, "git", "-C", root, "ls-files", "--", strings.TrimPrefix(line, "/")); tracked != "" {
			t.Errorf("%s leaves out tracked files: %s", line, tracked)
		}
	}
}

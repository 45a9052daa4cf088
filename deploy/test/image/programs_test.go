package image

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is callboard's module.
const root = "../../.."

// maxSize is what an image may have. Its program is almost all of it.
const maxSize = 40_000_000

// cold is a flag. An empty cache takes minutes, and shows differences that a shared one hides.
var cold = flag.Bool("cold", false, "build for the second time with an empty build cache") //nolint:gochecknoglobals // flags of tests are global

func names() []string { return []string{"projector", "readapi", "webhooks", "callboard"} }

// TestMain builds the images' programs as operators do.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := build(context.Background(), root); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// build builds the images' programs of a clone or worktree.
func build(ctx context.Context, dir string, env ...string) error {
	command := exec.CommandContext(ctx, "make", "--no-print-directory", "-C", dir, "images/programs")
	command.Env = append(os.Environ(), env...)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("make images/programs in %s: %w\n%s", dir, err, out)
	}
	return nil
}

// program returns the path of a program that build has built.
func program(dir, name string) string { return filepath.Join(dir, "bin", "image", name) }

// output runs a command to its end and returns its standard output. The test ends if the command fails.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	command := exec.CommandContext(t.Context(), name, args...)
	command.Stdout, command.Stderr = &out, &errs
	if err := command.Run(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, &errs)
	}
	return out.String()
}

// revision returns the commit of the checkout, or "unknown" in a copy of the files without their repository.
func revision(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "-C", root, "rev-parse", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

func requireRepository(t *testing.T) {
	t.Helper()
	if revision(t) == "unknown" {
		t.Skip("the files are in no git repository")
	}
}

func TestPrograms_AreStaticAndSmall(t *testing.T) {
	t.Parallel()
	for _, name := range names() {
		file, err := elf.Open(program(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range file.Progs {
			if p.Type == elf.PT_DYNAMIC || p.Type == elf.PT_INTERP {
				t.Errorf("%s has a segment %v, want a static program", name, p.Type)
			}
		}
		if file.Section(".symtab") != nil {
			t.Errorf("%s has a symbol table, want none", name)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
		if info, err := os.Stat(program(root, name)); err != nil || info.Size() > maxSize {
			t.Errorf("%s: size = %v, %v, want at most %d", name, info.Size(), err, maxSize)
		}
	}
}

// The images' programs link no server, no downloader and no test code, and the roots and time zones that their
// images lack.
func TestPrograms_Links(t *testing.T) {
	t.Parallel()
	for _, name := range names() {
		linked := packages(t, name, "-tags", "operator")
		for _, banned := range []string{
			"github.com/nats-io/nats-server/", "github.com/fergusstrange/embedded-postgres/", "callboard/schema/cluster/", "testing/",
		} {
			if slices.ContainsFunc(linked, func(p string) bool { return strings.HasPrefix(p+"/", banned) }) {
				t.Errorf("%s links %s, want it not to", name, banned)
			}
		}
		for _, want := range []string{"time/tzdata", "golang.org/x/crypto/x509roots/fallback"} {
			if !slices.Contains(linked, want) {
				t.Errorf("%s does not link %s, want it to", name, want)
			}
		}
	}
	if linked := packages(t, "callboard"); !slices.Contains(linked, "callboard/schema/cluster") {
		t.Errorf("without the tag operator callboard links %v, want callboard/schema/cluster among it", linked)
	}
}

// packages returns the packages that a program links.
func packages(t *testing.T, name string, flags ...string) []string {
	t.Helper()
	args := append([]string{"-C", root, "list", "-deps"}, flags...)
	return strings.Fields(output(t, "go", append(args, "callboard/cmd/"+name)...))
}

// Two clones of one commit, in directories of different names, give equal programs that know their revision.
func TestPrograms_AreReproducible(t *testing.T) {
	t.Parallel()
	requireRepository(t)
	revision := revision(t)
	first, second := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "another")
	var env []string
	if *cold {
		env = append(env, "GOCACHE="+t.TempDir())
	}
	clone(t, first, revision)
	clone(t, second, revision, env...)
	for _, name := range names() {
		a, b := digest(t, program(first, name)), digest(t, program(second, name))
		t.Logf("SHA-256 of %s at %.12s: %s", name, revision, a)
		if a != b {
			t.Errorf("SHA-256 of %s = %s and %s, want equal ones", name, a, b)
		}
		var version struct {
			Revision string
			Modified bool
		}
		out := output(t, program(first, name), "version", "--json")
		if err := json.Unmarshal([]byte(out), &version); err != nil || version.Revision != revision || version.Modified {
			t.Errorf("version of %s = %s, %v, want revision %s, not modified", name, out, err, revision)
		}
	}
}

// clone clones the repository and builds the programs of a revision.
func clone(t *testing.T, dir, revision string, env ...string) {
	t.Helper()
	output(t, "git", "clone", "--quiet", "--no-checkout", root, dir)
	output(t, "git", "-C", dir, "checkout", "--quiet", "--detach", revision)
	if err := build(t.Context(), dir, env...); err != nil {
		t.Fatal(err)
	}
}

func digest(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file) //nolint:gosec // a program that the test has built
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

package scenario_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rule is a rule of the contract. Exactly one of the other fields is set.
type rule struct {
	name string // the contract's words, abridged

	prove    func(*fixture) // proves the rule here
	tests    string         // the tests that prove it elsewhere: "readapi.TestX, readapi/access.TestY"
	sameAs   string         // the rule of this list that says the same: "Section/name"
	notOurs  string         // why customers or operators have to keep the rule
	notBuilt string         // what is missing
}

// section is a section of the contract.
type section struct {
	name  string
	rules []rule
}

func sections() []section {
	return slices.Concat(resourceSections(), stateSections(), endpointSections(), accessSections(), versionSections())
}

// TestContract proves the rules of the contract, or names the tests that do.
func TestContract(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rules := map[string]rule{}
	for _, s := range sections() {
		for _, r := range s.rules {
			name := s.name + "/" + r.name
			if _, twice := rules[name]; twice {
				t.Errorf("rule %s is listed twice", name)
			}
			rules[name] = r
		}
	}
	proven := 0
	for _, s := range sections() {
		t.Run(s.name, func(t *testing.T) {
			for _, r := range s.rules {
				t.Run(r.name, func(t *testing.T) { proven += r.run(t, f, rules) })
			}
		})
	}
	t.Logf("%d rules, %d of them proven", len(rules), proven)
}

// run returns 1 if the rule is proven. It skips the test if the rule isn't ours or is not built.
func (r rule) run(t *testing.T, f *fixture, rules map[string]rule) int {
	t.Helper()
	switch {
	case r.prove != nil:
		r.prove(f.in(t))
	case r.tests != "":
		for name := range strings.SplitSeq(r.tests, ", ") {
			mustExist(t, name)
		}
	case r.sameAs != "":
		if other, known := rules[r.sameAs]; !known || other.prove == nil && other.tests == "" {
			t.Errorf("rule %s is not proven", r.sameAs)
		}
	case r.notOurs != "":
		t.Skip("not ours to prove: " + r.notOurs)
	case r.notBuilt != "":
		t.Skip("not built: " + r.notBuilt)
	default:
		t.Error("no test proves the rule")
	}
	return 1
}

var testName = regexp.MustCompile(`^([a-z/]+)\.(Test\w+)$`)

// mustExist checks that a test named "package/folder.TestName" exists and has no Skip.
func mustExist(t *testing.T, name string) {
	t.Helper()
	parts := testName.FindStringSubmatch(name)
	if parts == nil {
		t.Fatalf("%q is not the name of a test", name)
	}
	files, err := filepath.Glob(filepath.Join("../..", parts[1], "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, after, found := strings.Cut(string(source), "func "+parts[2]+"("); found {
			if body, _, _ := strings.Cut(after, "\n}\n"); strings.Contains(body, ".Skip") {
				t.Errorf("%s can be skipped", name)
			}
			return
		}
	}
	t.Errorf("there is no test %s", name)
}

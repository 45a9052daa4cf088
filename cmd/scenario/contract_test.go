package scenario_test

import (
	"slices"
	"strings"
	"testing"
)

// rule is one promise of the contract and where it is proven. Every rule stands in exactly one of four ways.
type rule struct {
	name string // in the contract's words, as short as they can be

	prove  func(*world) // here
	tests  string       // by these tests elsewhere: "readapi.TestX, readapi/access.TestY"
	theirs string       // it binds the customer or the operator; why there is nothing of ours to prove
	absent string       // it is not built yet; what is missing
}

// section is one section of the contract with its rules.
type section struct {
	name  string
	rules []rule
}

// The contract, rule by rule: what is promised, and where it is proven.
func TestContract(t *testing.T) {
	w := newWorld(t)
	sections := slices.Concat(resourceSections(), stateSections(), endpointSections(), accessSections(), versionSections())
	var rules, proven, theirs, absent int
	seen := map[string]bool{}
	for _, s := range sections {
		t.Run(s.name, func(t *testing.T) {
			for _, r := range s.rules {
				rules++
				if name := s.name + "/" + r.name; seen[name] {
					t.Errorf("%s is there twice", name)
				} else {
					seen[name] = true
				}
				t.Run(r.name, func(t *testing.T) {
					switch {
					case r.prove != nil:
						proven++
						r.prove(w.in(t))
					case r.tests != "":
						proven++
						for name := range strings.SplitSeq(r.tests, ", ") {
							mustExist(t, name)
						}
					case r.theirs != "":
						theirs++
						t.Skip("not ours to prove: " + r.theirs)
					case r.absent != "":
						absent++
						t.Skip("not built yet: " + r.absent)
					default:
						t.Error("nothing proves it")
					}
				})
			}
		})
	}
	t.Logf("%d rules: %d proven, %d not ours to prove, %d not built yet", rules, proven, theirs, absent)
}

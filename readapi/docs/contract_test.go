package docs_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

var update = flag.Bool("update", false, "add new facts to contract.txt") //nolint:gochecknoglobals // a flag of the test binary

const contractFile = "contract.txt"

// A published fact must not disappear. -update adds new facts and never removes one: remove a line by hand if it
// has to change, for example an operation's stage, so that reviewers see it.
func TestContract(t *testing.T) {
	t.Parallel()
	now := facts(validated(t, describe(t, loadApprovals(t))))
	recorded, err := os.ReadFile(contractFile)
	if err != nil {
		t.Fatal(err)
	}
	before := strings.Split(strings.TrimSpace(string(recorded)), "\n")
	added, removed := without(now, before), without(before, now)
	for _, line := range removed {
		t.Errorf("published fact removed: %s", line)
	}
	if !*update {
		for _, line := range added {
			t.Errorf("fact not in %s, run the test with -update: %s", contractFile, line)
		}
		return
	}
	if t.Failed() {
		return
	}
	if err := os.WriteFile(contractFile, []byte(strings.Join(now, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func without(lines, others []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return slices.Contains(others, line) })
}

// facts lists what the description publishes, one sorted line per fact.
func facts(document *openapi3.T) []string {
	lines := fields("every problem", document.Components.Schemas["Problem"].Value)
	for path, item := range document.Paths.Map() {
		o := item.Get
		add := func(format string, arguments ...any) {
			lines = append(lines, o.OperationID+" "+fmt.Sprintf(format, arguments...))
		}
		add("is GET %s", path)
		add("has stage %v", o.Extensions["x-lifecycle-stage"])
		add("needs %v, across the whole phone system: %t", cmp.Or(o.Extensions["x-required-scope"], any("a key")), o.Extensions["x-whole-phone-system"] != nil)
		for _, p := range o.Parameters {
			add("takes %s %s: %s, %s", p.Value.In, p.Value.Name, requiredness(p.Value.Required), shape(p.Value.Schema.Value))
		}
		for status, response := range o.Responses.Map() {
			codes, isProblem := response.Value.Extensions["x-codes"].([]any)
			for _, code := range codes {
				add("%s has code %s", status, code)
			}
			if isProblem {
				continue
			}
			for name, header := range response.Value.Headers {
				add("%s has header %s: %s, %s", status, name, requiredness(header.Value.Required), shape(header.Value.Schema.Value))
			}
			for contentType, content := range response.Value.Content {
				add("%s is %s", status, contentType)
				lines = append(lines, fields(o.OperationID+" "+status+" has ", content.Schema.Value)...)
			}
		}
	}
	slices.Sort(lines)
	return lines
}

func requiredness(required bool) string {
	if required {
		return "required"
	}
	return "optional"
}

// fields lists the members of a schema and those nested in them.
func fields(path string, s *openapi3.Schema) []string {
	var lines []string
	for name, property := range s.Properties {
		memberPath := path + "/" + name
		required := requiredness(slices.Contains(s.Required, name))
		lines = append(lines, fmt.Sprintf("%s: %s, %s", memberPath, required, shape(property.Value)))
		lines = append(lines, fields(memberPath, property.Value)...)
	}
	if s.Items != nil {
		lines = append(lines, path+"/*: "+shape(s.Items.Value))
		lines = append(lines, fields(path+"/*", s.Items.Value)...)
	}
	for i, alternative := range s.OneOf {
		if len(alternative.Value.Properties) > 0 {
			lines = append(lines, fields(fmt.Sprintf("%s(%d)", path, i), alternative.Value)...)
		}
	}
	return lines
}

// shape describes a schema's type, its constraints and its alternatives.
func shape(s *openapi3.Schema) string {
	var words []string
	add := func(name string, value any, present bool) {
		if present {
			words = append(words, fmt.Sprintf("%s=%v", name, value))
		}
	}
	var types []string
	if s.Type != nil {
		types = s.Type.Slice()
	}
	for _, alternative := range s.OneOf {
		types = append(types, shape(alternative.Value))
	}
	words = append(words, strings.Join(types, "|"))
	add("format", s.Format, s.Format != "")
	add("const", s.Const, s.Const != nil)
	add("enum", s.Enum, s.Enum != nil)
	add("pattern", s.Pattern, s.Pattern != "")
	add("default", s.Default, s.Default != nil)
	add("minLength", s.MinLength, s.MinLength > 0)
	if s.MaxLength != nil {
		add("maxLength", *s.MaxLength, true)
	}
	if s.Min != nil {
		add("minimum", *s.Min, true)
	}
	if s.Max != nil {
		add("maximum", *s.Max, true)
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

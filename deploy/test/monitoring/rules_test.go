package monitoring_test

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

// root is the root of the repository.
const root = "../../.."

const (
	rulesFile = root + "/deploy/prometheus/rules.yaml"
	testsFile = root + "/deploy/prometheus/rules_test.yaml"
)

func readRules(tb testing.TB) []rulefmt.Rule {
	tb.Helper()
	groups, errs := rulefmt.ParseFile(rulesFile, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	for _, err := range errs {
		tb.Error(err)
	}
	if groups == nil {
		tb.FailNow()
	}
	var rules []rulefmt.Rule
	for _, group := range groups.Groups {
		rules = append(rules, group.Rules...)
	}
	return rules
}

// alerts are the rules of alerts by name. An alert can have several.
func alerts(tb testing.TB) map[string][]rulefmt.Rule {
	tb.Helper()
	named := make(map[string][]rulefmt.Rule)
	for _, rule := range readRules(tb) {
		if rule.Alert != "" {
			named[rule.Alert] = append(named[rule.Alert], rule)
		}
	}
	return named
}

// promtool runs the command of that name. CI installs it.
func promtool(t *testing.T, arguments ...string) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: on Debian it is in the package prometheus")
	}
	if output, err := exec.CommandContext(t.Context(), path, arguments...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(arguments, " "), err, output)
	}
}

// The tests of rules_test.yaml.
func TestRules_Promtool(t *testing.T) {
	t.Parallel()
	promtool(t, "test", "rules", testsFile)
}

func TestConfig_Promtool(t *testing.T) {
	t.Parallel()
	promtool(t, "check", "config", root+"/deploy/prometheus/prometheus.yaml")
}

func TestAlerts_Annotations(t *testing.T) {
	t.Parallel()
	for name, rules := range alerts(t) {
		for _, rule := range rules {
			if severity := rule.Labels["severity"]; severity != "page" && severity != "warn" {
				t.Errorf("%s: severity = %q, want page or warn", name, severity)
			}
			for _, annotation := range []string{"summary", "description"} {
				if rule.Annotations[annotation] == "" {
					t.Errorf("%s: the annotation %s is missing", name, annotation)
				}
			}
			if got, want := rule.Annotations["runbook"], "deploy/runbooks.md#"+strings.ToLower(name); got != want {
				t.Errorf("%s: runbook = %q, want %q", name, got, want)
			}
		}
	}
}

// Every alert has a section in runbooks.md, which says what it means, how to see it and what to do. Every section
// is of an alert.
func TestAlerts_Runbooks(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "deploy/runbooks.md"))
	if err != nil {
		t.Fatal(err)
	}

	missing := alerts(t)
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		name, rest, _ := strings.Cut(section, "\n")
		if missing[name] == nil {
			t.Errorf("%s is the section of no alert, or the second one of an alert", name)
		}
		delete(missing, name)
		for _, part := range []string{"**Meaning.**", "**See.**", "**Do.**"} {
			_, after, found := strings.Cut(rest, part)
			if !found {
				t.Errorf("%s: no %q, or not in this order", name, part)
			}
			rest = after
		}
	}
	for name := range missing {
		t.Errorf("%s has no section in runbooks.md", name)
	}
}

// Every rule of an alert has a test that expects it, and every alert one that expects nothing.
func TestAlerts_Tests(t *testing.T) {
	t.Parallel()
	expected, silent := expectations(t)
	for name, rules := range alerts(t) {
		if !silent[name] {
			t.Errorf("%s: no test in which it does not fire", name)
		}
		for _, rule := range rules {
			key := name + fmt.Sprint(rule.Labels)
			if !slices.ContainsFunc(expected, func(e expectation) bool { return e.alert == name && e.has(rule.Labels) }) {
				t.Errorf("%s: no test in which it fires", key)
			}
		}
	}
}

// expectation is an alert that a test of a rule expects.
type expectation struct {
	alert  string
	labels map[string]string
}

func (e expectation) has(labels map[string]string) bool {
	for name, value := range labels {
		if e.labels[name] != value {
			return false
		}
	}
	return true
}

// expectations reads rules_test.yaml: the alerts that are expected, and the alerts that some test expects not to fire.
func expectations(tb testing.TB) (expected []expectation, silent map[string]bool) {
	tb.Helper()
	text, err := os.ReadFile(testsFile)
	if err != nil {
		tb.Fatal(err)
	}
	var file struct {
		Tests []struct {
			Checks []struct {
				Alert  string `yaml:"alertname"`
				Alerts []struct {
					Labels map[string]string `yaml:"exp_labels"`
				} `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		} `yaml:"tests"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		tb.Fatal(err)
	}
	silent = make(map[string]bool)
	for _, test := range file.Tests {
		for _, check := range test.Checks {
			silent[check.Alert] = silent[check.Alert] || len(check.Alerts) == 0
			for _, alert := range check.Alerts {
				expected = append(expected, expectation{check.Alert, alert.Labels})
			}
		}
	}
	return expected, silent
}

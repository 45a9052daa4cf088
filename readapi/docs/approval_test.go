package docs_test

import (
	"strings"
	"testing"

	"callboard/readapi/docs"
)

func TestLoadApprovals(t *testing.T) {
	t.Parallel()
	if approvals := loadApprovals(t); len(approvals) != 24 {
		t.Errorf("approvals = %d, want 24", len(approvals))
	}
}

func TestParseApprovals(t *testing.T) {
	t.Parallel()
	const good = `{"operation": "listPhones", "stage": "beta", "reviewer": "API review board", "date": "2026-11-20"}`
	for name, c := range map[string]struct{ record, wantError string }{
		"valid":          {`[` + good + `]`, ""},
		"empty":          {`[]`, ""},
		"twice":          {`[` + good + `,` + good + `]`, "approved twice"},
		"unknown stage":  {`[` + strings.Replace(good, "beta", "alpha", 1) + `]`, `unknown lifecycle stage "alpha"`},
		"no stage":       {`[` + strings.Replace(good, `"stage": "beta",`, "", 1) + `]`, "unknown lifecycle stage"},
		"no reviewer":    {`[` + strings.Replace(good, "API review board", "", 1) + `]`, "reviewer"},
		"no operation":   {`[` + strings.Replace(good, "listPhones", "", 1) + `]`, "operation"},
		"invalid date":   {`[` + strings.Replace(good, "2026-11-20", "20.11.2026", 1) + `]`, "date"},
		"unknown member": {`[` + strings.Replace(good, `"date"`, `"day"`, 1) + `]`, "day"},
		"not a list":     {good, "approval record"},
		"no JSON":        {``, "approval record"},
	} {
		_, err := docs.ParseApprovals([]byte(c.record))
		if (err == nil) != (c.wantError == "") || err != nil && !strings.Contains(err.Error(), c.wantError) {
			t.Errorf("%s: error = %v, want %q", name, err, c.wantError)
		}
	}
}

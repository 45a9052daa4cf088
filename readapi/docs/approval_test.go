package docs_test

import (
	"strings"
	"testing"

	"callboard/readapi/docs"
)

func TestApproved(t *testing.T) {
	if approvals := approved(t); len(approvals) != 24 {
		t.Errorf("%d approvals, the contract has 24 operations", len(approvals))
	}
}

func TestParseApprovals(t *testing.T) {
	const good = `{"operation": "listPhones", "stage": "beta", "reviewer": "API review board", "date": "2026-11-20"}`
	for name, c := range map[string]struct{ record, want string }{
		"good":            {`[` + good + `]`, ""},
		"none":            {`[]`, ""},
		"twice":           {`[` + good + `,` + good + `]`, "there are two"},
		"unknown stage":   {`[` + strings.Replace(good, "beta", "alpha", 1) + `]`, `no lifecycle stage "alpha"`},
		"no stage":        {`[` + strings.Replace(good, `"stage": "beta",`, "", 1) + `]`, "no lifecycle stage"},
		"no reviewer":     {`[` + strings.Replace(good, "API review board", "", 1) + `]`, "reviewer"},
		"no operation":    {`[` + strings.Replace(good, "listPhones", "", 1) + `]`, "operation"},
		"another date":    {`[` + strings.Replace(good, "2026-11-20", "20.11.2026", 1) + `]`, "date"},
		"unknown member":  {`[` + strings.Replace(good, `"date"`, `"day"`, 1) + `]`, "day"},
		"no list":         {good, "approval record"},
		"an empty record": {``, "approval record"},
	} {
		_, err := docs.ParseApprovals([]byte(c.record))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

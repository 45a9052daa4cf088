package scenario_test

import (
	"slices"
	"time"
)

// compareTimes asks in turn for what is not there for each of its causes and says how long each takes. It judges answers alone:
// what a machine that does other things takes for one of them proves nothing.
func (r *realm) compareTimes() {
	r.t.Helper()
	const rounds = 200
	key := r.ofOrganization("timed")
	detail := operations()[slices.IndexFunc(operations(), func(o operation) bool { return o.id == "getCallLog" })]
	causes := map[string]place{
		"an object that never was":     {system: own, object: never},
		"an object that was deleted":   {system: own, object: removed},
		"an object of another tenant":  {system: own, object: stranger},
		"a system that never was":      {system: never, object: never},
		"a system that was deleted":    {system: ended, object: ended},
		"a system that is not covered": {system: stranger, object: stranger},
	}
	took := map[string][]time.Duration{}
	for range rounds {
		for cause, p := range causes { // in another order every time
			start := time.Now()
			a := r.ask(key, r.path(detail, p))
			took[cause] = append(took[cause], time.Since(start))
			r.judge(cause, a, "404 NOT_FOUND")
		}
	}
	for cause, list := range took {
		slices.Sort(list)
		r.t.Logf("%-32s median %v, lower quartile %v", cause, list[rounds/2], list[rounds/4])
	}
}

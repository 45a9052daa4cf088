//go:build linux

package load_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events/sample"
	"callboard/readapi/access"
)

// growth is by how much the calls of a phone system grow.
const growth = 100

// Every read of a phone system, with 10 thousand calls and with a million. The times and their ratios are printed.
func TestLoad_Growth(t *testing.T) {
	needLoad(t)
	i := newInstallation(t, sample.New(sample.Config{Seed: 1, Systems: 1, Calls: *grownFlag / growth, Days: 7}), map[string]string{"shared_buffers": "2GB"})
	r := i.startReader("readapi", map[string]string{"CALLBOARD_PREMIUM_PER_MINUTE": unlimited})
	system, w := i.system(0), i.windows(1)[0]
	systems := make([]uuid.UUID, 16)
	for k := range systems {
		systems[k] = system
	}
	var keys []string
	for _, issued := range i.issueKeys(access.TierPremium, systems...) {
		keys = append(keys, issued.Key.Reveal())
	}
	paths := i.reads(system, w)
	before := i.readAll(r, keys, append(i.lastPages(system), paths...))
	began := time.Now()
	i.grow()
	t.Logf("calls = %d, copied in %s", query[int64](i, "select count(*) from projection.call_log"), time.Since(began).Round(time.Second))
	paths = append(i.lastPages(system), paths...)
	after := i.readAll(r, keys, paths)
	var b strings.Builder
	for _, p := range paths {
		fmt.Fprintf(&b, "%10s  %10s  %5.2f  %s\n", rounded(before[p.name]), rounded(after[p.name]),
			after[p.name].Seconds()/before[p.name].Seconds(), p.name)
	}
	t.Logf("medians of %d requests with %d calls, with %d, and their ratio\n%s", readRequests, *grownFlag/growth, *grownFlag, &b)
}

// read is a request whose time is measured.
type read struct {
	name, path string
}

const readRequests = 100

// readAll measures the median time of each request.
func (i *installation) readAll(r *reader, keys []string, paths []read) map[string]time.Duration {
	i.Helper()
	client := newClient(1)
	defer client.CloseIdleConnections()
	medians := make(map[string]time.Duration)
	for _, p := range paths {
		answers := newResults(p.name)
		for n := range readRequests {
			answers.get(client, r.url+p.path, keys[n%len(keys)])
		}
		if n := answers.count(http.StatusOK); n != readRequests {
			i.Errorf("%v: answers with 200 = %d, want %d", answers, n, readRequests)
		}
		medians[p.name] = answers.percentile(50)
	}
	return medians
}

// reads returns a request for each operation, for the lists the first page.
func (i *installation) reads(system uuid.UUID, w window) []read {
	i.Helper()
	one := func(column, rows string) string {
		return query[string](i, fmt.Sprintf("select %s::text from %s where system_id = $1 order by 1 limit 1", column, rows), system)
	}
	base := "/" + system.String()
	// All events were published a moment ago.
	updated := window{system: system}
	updated.from = query[time.Time](i, "select min(updated_at) from projection.call_log where system_id = $1", system)
	updated.until = query[time.Time](i, "select max(updated_at) from projection.call_log where system_id = $1", system)
	recording := query[string](i, `
		select recording_sid from projection.recording
		where system_id = $1 and call_sid is not null and status = 'ready' order by 1 limit 1`, system)
	list := []read{
		{"listAccessiblePhoneSystems", ""},
		{"listCallLogReports", w.report()},
		{"listCallLogReports with transcripts", w.transcripts()},
		{"listCallLogReports by updatedAt", strings.Replace(updated.report(), "?", "?timeField=updatedAt&", 1)},
		{"getCallLogReportDimensions", w.dimensions()},
		{"listCallLogs, a week", w.list()},
		{"getCallRecording", base + "/recordings/" + recording},
		{"getCallRecordingUrl", base + "/recordings/" + recording + "/url"},
	}
	topology := func(kind string) string {
		return fmt.Sprintf("(select * from projection.topology where kind = '%s') r", kind)
	}
	for _, resource := range []struct{ path, rows string }{
		{"phones", topology("phone")}, {"phone-numbers", topology("phone-number")}, {"extensions", topology("extension")},
		{"agent-configs", topology("agent-config")}, {"call-groups", topology("call-group")}, {"call-menus", topology("call-menu")},
		{"call-logs", "projection.call_log"}, {"call-analyses", "projection.analysis"}, {"voicemails", "projection.voicemail"},
	} {
		list = append(list,
			read{resource.path + ", first page", base + "/" + resource.path + "?pageSize=100"},
			read{resource.path + ", one", base + "/" + resource.path + "/" + one("id", resource.rows)})
	}
	return append(list, read{"recordings, first page", base + "/recordings?pageSize=100"})
}

// lastPages returns a request for the last page of each list of dated rows.
func (i *installation) lastPages(system uuid.UUID) (list []read) {
	i.Helper()
	for _, resource := range []struct{ path, table string }{
		{"call-logs", "call_log"}, {"call-analyses", "analysis"}, {"voicemails", "voicemail"}, {"recordings", "recording"},
	} {
		rows := query[int64](i, `
			select coalesce(sum(count), 0)::bigint from projection.row_count where system_id = $1 and list = $2 and subset = ''`, system, resource.table)
		list = append(list, read{
			resource.path + ", last page", fmt.Sprintf("/%s/%s?pageSize=100&page=%d", system, resource.path, max(1, rows/100)),
		})
	}
	return list
}

// grow copies the calls and what belongs to them until there are a hundred times as many, each copy eight days
// earlier than the one before. It copies all columns that it doesn't change, whatever they are.
func (i *installation) grow() {
	i.Helper()
	for _, table := range []string{
		"call_log", "recording", "analysis", "voicemail", "transcript", "extension_entry", "row_count",
	} {
		rows, _ := i.pool.Query(i.Context(), `
			select column_name::text, data_type::text from information_schema.columns
			where table_schema = 'projection' and table_name = $1 order by ordinal_position`, table)
		var names, values []string
		var name, kind string
		if _, err := pgx.ForEachRow(rows, []any{&name, &kind}, func() error {
			names, values = append(names, name), append(values, copied(name, kind))
			return nil
		}); err != nil {
			i.Fatal(err)
		}
		where := ""
		if table == "row_count" {
			where = "where c.list in ('call_log', 'recording', 'analysis', 'voicemail')"
		}
		i.exec(fmt.Sprintf("insert into projection.%s (%s) select %s from generate_series(1, %d) n cross join projection.%s c %s",
			table, strings.Join(names, ", "), strings.Join(values, ", "), growth-1, table, where))
	}
	i.exec("vacuum analyze")
	i.exec("checkpoint")
}

// copied is the value of a column in the copy n of row c.
func copied(name, kind string) string {
	column := "c." + name
	switch name {
	case "id", "call_id", "owner_id":
		return "md5(" + column + "::text || n)::uuid"
	case "call_sid", "recording_sid", "parent_call_sid":
		return column + " || '-' || n"
	case "day":
		return column + " - 8 * n"
	}
	if kind == "timestamp with time zone" {
		return column + " - n * interval '8 days'"
	}
	return column
}

//go:build linux

package load_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events/sample"
	"callboard/readapi/access"
)

// A load test reads a small company.
func smallCompany() *sample.Company {
	return sample.New(sample.Config{Seed: 1, Systems: 8, Calls: 6000})
}

// unlimited is an allowance that no load test uses up.
const unlimited = "100000000"

// readerMemory is the limit of a reader's container in docker-compose.yml, in MiB.
const readerMemory = 512

// heavyRows is the number of rows of the largest page with transcripts.
const heavyRows = 25

// heavyPage gives calls of a phone system large transcripts and returns the path of the page that has them: nearly
// 5.5 MB.
func (i *installation) heavyPage(system uuid.UUID) string {
	i.Helper()
	from := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	given := query[int](i, `
		with chosen as (
		  select t.owner_id, row_number() over (order by t.owner_id) as number
		  from projection.transcript_text t
		  join projection.call_log c on c.system_id = t.system_id and c.id = t.owner_id
		  where t.system_id = $1 and t.owner = 'call' and c.transcription_status = 'completed'
		  limit $2
		), filled as (
		  update projection.transcript_text t
		  set text = (select string_agg(md5(number::text || n), ' ') from generate_series(1, 6450) n), turns = '[]'
		  from chosen where t.system_id = $1 and t.owner = 'call' and t.owner_id = chosen.owner_id
		  returning t.owner_id, octet_length(t.text) as bytes, number
		), moved as (
		  update projection.call_log c
		  set created_at = $3::timestamptz + number * interval '1 minute', transcript_text_bytes = bytes, transcript_turns_bytes = 2
		  from filled where c.system_id = $1 and c.id = filled.owner_id
		  returning c.id
		)
		select count(*) from moved`, system, heavyRows, from)
	if given != heavyRows {
		i.Fatalf("calls with large transcripts = %d, want %d", given, heavyRows)
	}
	return "/" + system.String() + "/call-log-reports?" + url.Values{
		"dateFrom": {instant(from)}, "dateTo": {instant(from.AddDate(0, 0, 1))}, "limit": {strconv.Itoa(heavyRows)}, "includeTranscripts": {"true"},
	}.Encode()
}

// worstRequests gives the calls and analyses of a phone system the longest texts that an event can have. It returns the
// paths of the largest requests below the phone systems, by kind.
func (i *installation) worstRequests(system uuid.UUID) map[string]string {
	i.Helper()
	heavy := i.heavyPage(system)
	const longest = "repeat(chr(1), 1024)" // a control character takes six bytes of JSON
	i.exec(fmt.Sprintf(`
		update projection.call_log
		set from_name = %[1]s, from_party = %[1]s, to_party = %[1]s, status = %[1]s, outcome = %[1]s,
		  route_summary = repeat(chr(1), 8192), tags = (select json_agg(repeat('t', 1024)) from generate_series(1, 200))
		where system_id = '%[2]s' and created_at >= '2021-01-01'`, longest, system))
	i.exec(fmt.Sprintf(`
		update projection.analysis set coaching_tips = (select json_agg(repeat('t', 320)) from generate_series(1, 100))
		where system_id = '%s'`, system))
	longestText := query[uuid.UUID](i, `
		update projection.transcript_text t set text = repeat('a', 4990000)
		where t.system_id = $1 and t.owner = 'call' and t.owner_id = (
		  select id from projection.call_log
		  where system_id = $1 and transcription_status = 'completed' and created_at >= '2021-01-01'
		  order by id limit 1)
		returning t.owner_id`, system)

	path := "/" + system.String()
	window := path + "/call-log-reports?dateFrom=2021-01-01T00:00:00Z&dateTo=2026-12-31T00:00:00Z&limit="
	return map[string]string{
		"400, empty pairs":         path + "/call-logs?" + strings.Repeat(";&", 7500),
		"400, long names":          path + "/call-logs?" + strings.Repeat("%01", 5000),
		"404":                      path + "/call-logs/" + uuid.NewString(),
		"detail":                   path + "/call-logs/" + longestText.String(),
		"413, a report":            window + "100",
		"report":                   window + "15",
		"report with transcripts":  heavy,
		"list of calls":            path + "/call-logs?pageSize=100",
		"list of analyses":         path + "/call-analyses?pageSize=100",
		"dimensions":               path + "/call-log-reports/dimensions",
		"accessible phone systems": "",
	}
}

// discard requests a URL, reads the answer to its end without keeping it, and counts it.
func (r *results) discard(client *http.Client, url, key string) {
	began := time.Now()
	response, err := open(background(), client, url, key)
	if err != nil {
		r.add(0, time.Since(began), err)
		return
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	r.add(response.StatusCode, time.Since(began), err)
}

// atOnce sends requests of one key at the same time, each on its connection.
func (i *installation) atOnce(name string, r *reader, requests int, path string, key access.IssuedKey) *results {
	i.Helper()
	client, answers := newClient(requests), newResults(name)
	defer client.CloseIdleConnections()
	inParallel(requests, func(int) { answers.discard(client, r.url+path, key.Key.Reveal()) })
	return answers
}

// heaviestSystem is the phone system with the most transcripts.
func (i *installation) heaviestSystem() uuid.UUID {
	i.Helper()
	return query[uuid.UUID](i, `
		select system_id from projection.transcript_text where owner = 'call'
		group by system_id order by count(*) desc, system_id limit 1`)
}

// 512 of the largest requests of each kind at the same time, by one key, leave a reader below the memory of its
// container.
func TestLoad_WorstRequests(t *testing.T) {
	needLoad(t)
	i := newInstallation(t, smallCompany(), nil)
	system := i.heaviestSystem()
	for name, path := range i.worstRequests(system) {
		t.Run(name, func(t *testing.T) {
			run := *i
			run.TB = t
			r := run.startReader("readapi", map[string]string{"CALLBOARD_PREMIUM_PER_MINUTE": unlimited})
			key := run.issueKeys(access.TierPremium, system)[0]
			answers := run.atOnce(name, r, 512, path, key)
			_, highest := memory(r.process)
			t.Logf("%v; memory %d MiB", answers, highest)
			if highest > readerMemory {
				t.Errorf("memory = %d MiB, want %d at most", highest, readerMemory)
			}
		})
	}
}

//go:build linux

package load_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events/eventstest"
	"callboard/readapi/access"
)

// smallReader has the settings of a container with 384 MiB, as the base of deploy/kubernetes has them.
func smallReader() map[string]string {
	return map[string]string{"GOMEMLIMIT": "345MiB", "CALLBOARD_BODY_MEMORY": "128MiB"}
}

// heavyRows is the number of rows of the largest page with transcripts.
const heavyRows = 25

// heavyPage gives calls of a phone system large transcripts and returns the path of the page that has them: nearly 5.5 MB.
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

// Large pages for clients that read fast, slowly, or not to the end: a client that reads fast gets all that it asks for, and no memory
// stays reserved. Memory and times are printed.
func TestLoad_LargePages(t *testing.T) {
	needLoad(t)
	i := newInstallation(t, smallCompany(), nil)
	system := i.heaviestSystem()
	path := i.heavyPage(system)
	for _, n := range []int{64, 512} {
		for _, c := range []struct {
			name string
			load func(*largePages)
		}{
			{"fast", func(*largePages) {}},
			{"slow", (*largePages).slow},
			{"aborted", (*largePages).abort},
		} {
			t.Run(fmt.Sprintf("%d %s", n, c.name), func(t *testing.T) {
				run := *i // logs and failures are the subtest's
				run.TB = t
				p := &largePages{installation: &run, reader: run.startReader("readapi", smallReader()), path: path, system: system, n: n}
				p.warmUp()
				fast := 8
				if c.name == "fast" {
					fast = n
				}
				p.run(c.load, fast)
			})
		}
	}
}

// largePages is one load of large pages on a new reader.
type largePages struct {
	*installation
	reader *reader
	path   string
	system uuid.UUID
	n      int // pages
	stop   chan struct{}
	others sync.WaitGroup
}

// keys issues keys of the pages' phone system.
func (p *largePages) keys(n int) (keys []string) {
	p.Helper()
	systems := make([]uuid.UUID, n)
	for k := range systems {
		systems[k] = p.system
	}
	for _, issued := range p.issueKeys(access.TierPremium, systems...) {
		keys = append(keys, issued.Key.Reveal())
	}
	return keys
}

// warmUp reads one page and checks its size.
func (p *largePages) warmUp() {
	p.Helper()
	status, body, err := get(p.Context(), http.DefaultClient, p.reader.url+p.path, p.keys(1)[0])
	if err != nil || status != http.StatusOK || len(body) < 5_200_000 {
		p.Fatalf("page: status = %d, bytes = %d, error = %v, want 200 and 5.2 to 5.5 MB: %.300s", status, len(body), err, body)
	}
}

// run reads pages with fast keys, all at the same time, beside another load.
func (p *largePages) run(load func(*largePages), fast int) {
	p.Helper()
	keys := p.keys(fast)
	p.stop = make(chan struct{})
	load(p)
	client := newClient(fast)
	defer client.CloseIdleConnections()
	answers, unavailable := newResults("fast keys"), newResults("told to come back")
	began := time.Now()
	inParallel(fast, func(k int) { p.insist(client, keys[k], answers, unavailable) })
	elapsed := time.Since(began)
	now, highest := memory(p.reader.process)
	close(p.stop)
	p.others.Wait()
	const refusals = "callboard_readapi_limit_refusals_total"
	p.Logf("%v, all in %s\n%v\nmemory: %d MiB, highest %d MiB\nrefused for the rate: %.0f, without NATS: %.0f", answers, rounded(elapsed), unavailable,
		now, highest, p.reader.metric(refusals, "rate"), p.reader.metric(refusals, "unreachable"))
	if n := answers.count(http.StatusOK); n != fast {
		p.Errorf("fast keys: answers with 200 = %d, want %d: %v", n, fast, answers)
	}
	eventstest.Eventually(p, "no memory is reserved", func() bool {
		return p.reader.metric("callboard_readapi_in_flight", "") == 0 && p.reader.metric("callboard_readapi_body_bytes", "") == 0
	})
}

// insist requests a page until the answer isn't 503, as its Retry-After says.
func (p *largePages) insist(client *http.Client, key string, answers, unavailable *results) {
	for {
		began := time.Now()
		status, err := discard(client, p.reader.url+p.path, key)
		if err != nil || status != http.StatusServiceUnavailable {
			answers.add(status, time.Since(began), err)
			return
		}
		unavailable.add(status, time.Since(began), nil)
		<-time.After(time.Second)
	}
}

// discard requests a URL and reads the answer without keeping it.
func discard(client *http.Client, url, key string) (status int, err error) {
	response, err := open(background(), client, url, key)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

// otherKeys is how many keys the clients have that don't read fast.
const otherKeys = 4

// startOthers starts clients that request a page again and again, and do something with each answer.
func (p *largePages) startOthers(name string, answered func(*http.Response) error) {
	p.Helper()
	keys, answers := p.keys(otherKeys), newResults(name)
	for k := range p.n {
		p.others.Go(func() {
			client := newClient(1)
			defer client.CloseIdleConnections()
			for {
				began := time.Now()
				response, err := open(background(), client, p.reader.url+p.path, keys[k%otherKeys])
				status := 0
				if err == nil {
					status = response.StatusCode
					err = answered(response)
					_ = response.Body.Close() // before its end, this closes the connection
				}
				answers.add(status, time.Since(began), err)
				select {
				case <-p.stop:
					return
				case <-time.After(time.Second):
				}
			}
		})
	}
	p.Cleanup(func() { p.Log(answers) })
	eventstest.Eventually(p, "every client has sent a request", func() bool {
		return p.reader.metric("callboard_readapi_in_flight", "") > 0 || answers.total() > 0
	})
}

// slow reads pages at 10 kB/s.
func (p *largePages) slow() {
	p.startOthers("slow clients", func(r *http.Response) error {
		for {
			select {
			case <-p.stop:
				return nil
			case <-time.After(time.Second):
			}
			if _, err := io.CopyN(io.Discard, r.Body, 10_000); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err // the reader may cut slow clients off
			}
		}
	})
}

// abort reads the beginning of pages.
func (p *largePages) abort() {
	p.startOthers("clients that leave", func(r *http.Response) error {
		if _, err := io.CopyN(io.Discard, r.Body, 64<<10); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		return nil
	})
}

package fault_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"callboard/events"
)

const (
	hostileRoot  = "/customer/phone-systems"
	hostileAudio = "good.wav"
	hostileBurst = 64 // requests of one key at once
)

// hostileRequest is a request that may be refused with a problem document.
type hostileRequest struct {
	name, method, target string
	header               http.Header
	body                 io.Reader
}

// hostileClient makes requests from what the answers tell.
type hostileClient struct {
	*hostile
	random *rand.Rand
	client *http.Client

	cursors, links []string
	paths          []string // of details
}

// request makes requests until ctx ends: one after the other, and now and then many at once of the same.
func (h *hostile) request(ctx context.Context, random *rand.Rand) {
	transport := &http.Transport{MaxIdleConnsPerHost: hostileBurst}
	defer transport.CloseIdleConnections()
	c := &hostileClient{hostile: h, random: random, client: &http.Client{Transport: transport, Timeout: time.Minute}}
	for n := 0; ctx.Err() == nil && !h.tb.Failed() && !h.reader.HasExited(); n++ {
		if c.random.IntN(20) == 0 {
			h.count("request: bytes of no request", 0)
			c.sendBytes(ctx)
			continue
		}
		request := c.next()
		times := 1
		if request.body == nil && c.random.IntN(40) == 0 {
			times = hostileBurst
		}
		var sent sync.WaitGroup
		for i := range times {
			sent.Go(func() { c.send(ctx, request, i == 0) })
		}
		sent.Wait()
	}
}

// send sends a request and checks the answer. Only one of many requests at once keeps what the answer tells.
func (c *hostileClient) send(ctx context.Context, r hostileRequest, keep bool) {
	request, err := http.NewRequestWithContext(ctx, r.method, c.base, r.body)
	if err != nil {
		c.count("request: "+r.name+": not sent", 0)
		return
	}
	path, query, _ := strings.Cut(r.target, "?")
	request.URL = &url.URL{Scheme: request.URL.Scheme, Host: request.URL.Host, Opaque: path, RawQuery: query}
	request.Header = r.header
	response, err := c.client.Do(request)
	if err != nil {
		c.count("request: "+r.name+": no answer", 0)
		return
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	c.count(fmt.Sprintf("request: %s: %d", r.name, response.StatusCode), 0)
	isProblem := response.Header.Get("Content-Type") == "application/problem+json"
	switch {
	case response.StatusCode == http.StatusInternalServerError:
		c.tb.Errorf("%s %.300q: 500: %.500s", r.method, r.target, body)
	case response.StatusCode >= http.StatusBadRequest && !isProblem && err == nil && r.method != http.MethodHead:
		c.count(fmt.Sprintf("answer that is no problem document: %s: %d %.40q", r.name, response.StatusCode, body), 0)
	case response.StatusCode == http.StatusOK && keep && err == nil:
		c.keep(r, body)
	}
}

// keep remembers cursors, links to audio and the paths of details.
func (c *hostileClient) keep(r hostileRequest, body []byte) {
	var answer struct {
		NextCursor string
		URL        string
		Data       []struct{ ID, RecordingSid string }
	}
	if json.Unmarshal(body, &answer) != nil {
		return
	}
	add := func(list []string, text string) []string {
		if text == "" {
			return list
		}
		return append(list[max(0, len(list)-200):], text)
	}
	c.cursors, c.links = add(c.cursors, answer.NextCursor), add(c.links, answer.URL)
	path, _, _ := strings.Cut(r.target, "?")
	for _, row := range answer.Data {
		if row.ID != "" {
			c.paths = add(c.paths, path+"/"+row.ID)
		}
	}
}

// next returns the next request.
func (c *hostileClient) next() hostileRequest {
	i := c.random.IntN(len(c.systems))
	r := hostileRequest{name: "list", method: http.MethodGet, header: http.Header{"X-Api-Key": {c.keys[i].Reveal()}}}
	resource := pick(c.random, "call-logs", "call-logs", "call-log-reports", "call-log-reports", "call-analyses",
		"call-groups", "call-menus", "extensions",
		"phone-numbers", "phones", "recordings", "voicemails", "agent-configs", "call-log-reports/dimensions")
	r.target = "/v1" + hostileRoot + "/" + c.systems[i].String() + "/" + resource
	limit := "?pageSize=" + pick(c.random, "100", "100", "1", "1000") + "&page=" + pick(c.random, "1", "2", "3",
		"1000000")
	if strings.HasPrefix(resource, "call-log-reports") {
		// The sample's calls are of the last days of February, the good ones of the first of June.
		limit = "?timeField=" + pick(c.random, "createdAt", "updatedAt") +
			pick(c.random, "&dateFrom=2026-02-20T00:00:00Z&dateTo=2026-03-02T00:00:00Z",
				"&dateFrom=2026-05-25T00:00:00Z&dateTo=2026-06-02T00:00:00Z",
				"&dateFrom=2000-01-01T00:00:00Z&dateTo=2100-01-01T00:00:00Z")
		if resource == "call-log-reports" {
			limit += "&limit=100"
		}
	}

	switch c.random.IntN(14) {
	case 0, 1, 2:
		r.target += limit
	case 3:
		r.name = "detail"
		if len(c.paths) > 0 {
			r.target = pick(c.random, c.paths...)
		}
	case 4:
		r.name, r.target = "parameters", r.target+limit+c.parameters()
	case 5:
		r.name, r.target = "cursor", r.target+limit+"&cursor="+c.cursor()
	case 6:
		r.name, r.target = "path", c.path(r.target)
	case 7:
		r.name = "header"
		c.addHeaders(r.header)
	case 8:
		r.name, r.method = "method", pick(c.random, http.MethodPost, http.MethodPut, http.MethodDelete,
			http.MethodOptions, http.MethodHead, http.MethodTrace, "FOO", strings.Repeat("M", 3000))
	case 9:
		r.name, r.method = "body", pick(c.random, http.MethodGet, http.MethodPost)
		r.body = strings.NewReader(strings.Repeat("b", pick(c.random, 1, 10_000, 5_000_000)))
	case 10:
		r.name, r.target = "other key", r.target+limit
		r.header.Set("X-Api-Key", pick(c.random, c.otherKeys...).Reveal())
	case 11:
		r.name = "malformed key"
		r.header.Set("X-Api-Key", pick(c.random, "", "sk_phones_", "sk_phones_"+strings.Repeat("a", 100_000), "\xff",
			"sk_phones_a_"+c.cursor()))
	case 12:
		r.name, r.target = "link", "/v1"+hostileRoot+"/"+c.systems[i].String()+"/recordings/"+hostileRecording(i)+"/url"
	case 13:
		r.name = "range"
		if len(c.links) > 0 {
			c.askForRange(&r)
		}
	}
	return r
}

// parameters returns a query of many, long, repeated or malformed parameters.
func (c *hostileClient) parameters() string {
	name := pick(c.random, "a", "limit", "cursor", "callSid", "number", "dateFrom", "status", "", "é", "%zz",
		"fields", "sort", "direction", "callLogId")
	value := pick(c.random, "", "1", "-1", "+1415", "%00", "%ff", "a%20b", "0x7fffffff", strings.Repeat("9", 400),
		strings.Repeat("v", 60_000), "2026-13-01", "null")
	one := pick(c.random, "&"+name+"="+value, "&"+name, ";", "&;", "&"+name+"[]="+value, "&"+name+"="+value+"%26")
	return strings.Repeat(one, 1+pick(c.random, 1, 30, 40, 5000, 200_000)/len(one))
}

func (c *hostileClient) cursor() string {
	size := pick(c.random, 1, 16, 40, 100, 5000, 100_000)
	text := make([]byte, size)
	for i := range text {
		text[i] = byte(c.random.Uint32())
	}
	random := base64.RawURLEncoding.EncodeToString(text)
	if len(c.cursors) == 0 {
		return random
	}
	known := pick(c.random, c.cursors...)
	at := c.random.IntN(len(known))
	return pick(c.random, random, known, known[:at], known[:at]+"A"+known[at:], known+known, url.QueryEscape(known))
}

func (c *hostileClient) path(valid string) string {
	return pick(c.random, valid+"/"+strings.Repeat("p", pick(c.random, 10, 5000, 300_000)), valid+strings.Repeat("/x",
		10_000), valid+"/%00", valid+"/%zz", valid+"/../..",
		strings.ToUpper(valid), valid+"/", "//"+valid, strings.Replace(valid, "-", "", 1), "/", "/v1",
		"/v1/openapi.json", "/openapi.json", "/docs", "/docs/webhooks", "/.env", valid+"/%F0%9F%98%80")
}

func (c *hostileClient) addHeaders(header http.Header) {
	name := pick(c.random, "Accept", "If-None-Match", "X-Request-Id", "Authorization", "Traceparent",
		"X-Forwarded-For", "Accept-Encoding", "Expect", "Cookie", "Range", "If-Modified-Since")
	value := pick(c.random, "", "*", strings.Repeat(`"a",`, 10_000), strings.Repeat("h", 100_000),
		strings.Repeat("1.2.3.4, ", 5000), "00-"+strings.Repeat("0", 32)+"-0-0", "gzip;q=0,*;q=0", "100-continue", "x")
	header[name] = []string{value}
	if c.random.IntN(4) == 0 {
		for i := range 3000 {
			header["X-"+strconv.Itoa(i)] = []string{"1"}
		}
	}
}

// askForRange requests a part of some audio, with a link that may be altered.
func (c *hostileClient) askForRange(r *hostileRequest) {
	link, err := url.Parse(pick(c.random, c.links...))
	if err != nil {
		return
	}
	r.target = link.EscapedPath() + "?" + link.RawQuery
	if c.random.IntN(4) == 0 {
		r.target = strings.Replace(r.target, "=", "=x", 1)
	}
	r.header = http.Header{"Range": {pick(c.random, "bytes=0-", "bytes=-1", "bytes=-0", "bytes=99999-",
		"bytes=100000-", "bytes=5-1", "BYTES=0-1", "lines=1-2", "bytes=",
		"bytes="+strings.Repeat("0-1,", 20_000)+"0-1", "bytes=0-"+strings.Repeat("9", 50), "bytes=0-0,-1")}}
}

// sendBytes sends what is no request, or a part of one, and reads the answer if there is one.
func (c *hostileClient) sendBytes(ctx context.Context) {
	host := strings.TrimPrefix(strings.TrimSuffix(c.base, "/v1"), "http://")
	dialer := net.Dialer{Timeout: 5 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", host)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return
	}
	text := pick(c.random, "GET / HTTP/9.9\r\n\r\n", "\x16\x03\x01\x02\x00\x01",
		"GET /v1 HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"POST /v1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
		"GET /v1 HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
		"GET /v1 HTTP/1.1\r\nHost: a\r\nX: "+strings.Repeat("a", 2_000_000)+"\r\n\r\n",
		"GET /v1 HTTP/1.1\r\nHost: a\r\nX-API-Key: a\rb\r\n\r\n", "GET /v1 HTTP/1.1\r\n", strings.Repeat("A",
			100_000),
		strings.Repeat("GET /v1/customer/phone-systems HTTP/1.1\r\nHost: a\r\n\r\n", 1000))
	if _, err := io.WriteString(conn, text); err != nil {
		return
	}
	if c.random.IntN(2) == 0 {
		_, _ = io.Copy(io.Discard, bufio.NewReader(conn)) // until the server closes the connection, or the deadline
	}
}

// hostileRecording returns the sid of a recording that the reader has the audio of.
func hostileRecording(system int) string { return "REgood" + strconv.Itoa(system) }

// publishRecordings publishes a recording of each phone system, and its call.
func (h *hostile) publishRecordings() {
	h.tb.Helper()
	publisher := events.NewPublisher(h.js, "good")
	for i, system := range h.systems {
		g := h.newCalls(i)
		call := g.next()
		recording := events.Changed(&events.Recording{
			RecordingSid: hostileRecording(i), PhoneSystemID: system, CallID: events.Some(uuid.MustParse(call.Key)),
			Version: 1, Status: events.RecordingReady,
			CreatedAt: events.TimeOf(historyEnd()), Audio: &events.Audio{Key: hostileAudio, ContentType: "audio/wav",
				Bytes: 100_000},
		})
		if err := errors.Join(publisher.Publish(h.tb.Context(), call, recording), h.publishGood(publisher,
			g)); err != nil {
			h.tb.Fatal(err)
		}
	}
}

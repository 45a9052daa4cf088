package fault_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/sample"
)

// hostileEvent is a message that may be refused, and may not stop its partition.
type hostileEvent struct {
	name string
	events.Message
	rawHeader string // sent in place of the header, as it is
}

// hostileEvents makes hostile events of a phone system, or of none.
type hostileEvents struct {
	*hostile
	random          *rand.Rand
	system, sibling uuid.UUID   // events of phone systems are of the sibling
	calls           []uuid.UUID // of earlier events
	ids             []string    // of earlier messages
}

func (h *hostile) newEvents(stream uint64, system, sibling uuid.UUID) hostileEvents {
	return hostileEvents{hostile: h, random: rand.New(rand.NewPCG(h.number, 10+stream)), system: system,
		sibling: sibling}
}

// hostileTemplates returns valid events of each entity.
func hostileTemplates(number uint64) (list []events.Event) {
	found := map[events.Entity]int{}
	for e := range sample.New(sample.Config{Seed: number, Calls: 60, Days: 2}).Events() {
		if found[e.Entity]++; found[e.Entity] <= 4 {
			list = append(list, e)
		}
	}
	return list
}

// draft is an event that is being altered.
type draft struct {
	event hostileEvent
	state map[string]any // nil: the event's data is final
}

// hostileKind alters a valid event.
type hostileKind struct {
	name  string
	alter func(*hostileEvents, *draft)
}

func hostileKinds() []hostileKind {
	return []hostileKind{
		{"text of some size", func(g *hostileEvents, d *draft) { g.replaceText(d, g.text()) }},
		{"texts as long as possible", (*hostileEvents).stretch},
		{"many elements", (*hostileEvents).repeatElements},
		{"another value", func(g *hostileEvents, d *draft) { g.replaceAny(d, g.value()) }},
		{"another value in its place", func(g *hostileEvents, d *draft) { g.insert(d, g.anyMember(d), g.value()) }},
		{"unknown member", func(g *hostileEvents, d *draft) { g.insert(d, "unknown", g.value()) }},
		{"many unknown members", (*hostileEvents).addMembers},
		{"version", func(g *hostileEvents, d *draft) { g.insert(d, "version", json.RawMessage(g.number())) }},
		{"time", func(g *hostileEvents, d *draft) { g.replaceAny(d, mustMarshal(g.instant())) }},
		{"bytes", (*hostileEvents).damage},
		{"header", (*hostileEvents).alterHeader},
		{"raw header", (*hostileEvents).writeHeader},
		{"server's header", (*hostileEvents).addServerHeader},
		{"status without data", (*hostileEvents).pretendStatus},
		{"id of another message", (*hostileEvents).repeatID},
		{"subject", (*hostileEvents).alterSubject},
		{"claim check", (*hostileEvents).referToObject},
		{"transcript", (*hostileEvents).writeTranscript},
	}
}

// bad returns the next hostile event.
func (g *hostileEvents) bad() hostileEvent {
	kinds := hostileKinds()
	kind := kinds[g.random.IntN(len(kinds))]
	d := g.draft()
	d.event.name = kind.name
	kind.alter(g, &d)
	if d.state != nil {
		d.event.Data, _ = json.Marshal(d.state) // made of what encoding/json has decoded
	}
	if len(d.event.Data) > hostilePayload-100_000 {
		d.event.Data = d.event.Data[:hostilePayload-100_000]
	}
	return d.event
}

// draft returns a valid event of the phone system, or of no phone system, with new identifiers. A facet is often of an
// earlier call.
func (g *hostileEvents) draft() draft {
	var e events.Event
	for {
		e = g.templates[g.random.IntN(len(g.templates))]
		if (e.System == uuid.Nil) == (g.system == uuid.Nil) {
			break
		}
	}
	m := encoded(e)
	d := draft{event: hostileEvent{Message: m}, state: decodeState(m.Data)}
	system := g.system
	if e.Entity == events.EntityPhoneSystem {
		system = g.sibling
		d.state["id"] = system
	} else if _, found := d.state["id"]; found {
		d.state["id"] = randomID(g.random)
	}
	if e.System != uuid.Nil {
		d.state["phoneSystemId"] = system
	}
	if e.Entity == events.EntityCall && len(g.calls) < 1000 {
		g.calls = append(g.calls, d.state["id"].(uuid.UUID))
	}
	for _, name := range []string{"callId", "voicemailId"} {
		if d.state[name] == nil {
			continue
		}
		d.state[name] = randomID(g.random)
		if len(g.calls) > 0 && name == "callId" {
			d.state[name] = g.calls[g.random.IntN(len(g.calls))]
		}
	}
	if _, found := d.state["recordingSid"]; found {
		d.state["recordingSid"] = "RE" + strings.ReplaceAll(randomID(g.random).String(), "-", "")
	}
	id := randomID(g.random).String()
	g.ids = append(g.ids[max(0, len(g.ids)-100):], id)
	d.event.Subject = events.Subject(system, e.Entity)
	if e.System == uuid.Nil {
		d.event.Subject = events.Subject(uuid.Nil, e.Entity)
	}
	d.event.Header["ce-id"], d.event.Header[nats.MsgIdHdr] = []string{id}, []string{id}
	return d
}

func decodeState(data []byte) (state map[string]any) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&state); err != nil {
		panic(err) // it was encoded here
	}
	return state
}

// place is a value in a state, and how to replace it.
type place struct {
	value any
	set   func(any)
}

// places returns the values in a state, at every depth.
func places(v any) (list []place) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range sortedKeys(v) {
			list = append(list, place{v[name], func(n any) { v[name] = n }})
			list = append(list, places(v[name])...)
		}
	case []any:
		for i := range v {
			list = append(list, place{v[i], func(n any) { v[i] = n }})
			list = append(list, places(v[i])...)
		}
	}
	return list
}

// replaceAny replaces a value by one that need not be valid JSON.
func (g *hostileEvents) replaceAny(d *draft, value json.RawMessage) {
	const mark = "to be replaced"
	list := places(d.state)
	list[g.random.IntN(len(list))].set(mark)
	d.event.Data = bytes.Replace(mustMarshal(d.state), mustMarshal(mark), value, 1)
	d.state = nil
}

func (g *hostileEvents) replaceText(d *draft, text any) {
	list := places(d.state)
	for {
		p := list[g.random.IntN(len(list))]
		if _, isText := p.value.(string); isText || p.value == nil {
			p.set(text)
			return
		}
	}
}

// size draws a number around a limit, and rarely a large one. After a gigabyte there are no large ones.
func (g *hostileEvents) size() int {
	sizes := []int{
		0, 1, 2, 63, 64, 65, 99, 100, 101, 199, 200, 201, 255, 256, 511, 512, 513, 999, 1000, 1001, 1023, 1024, 1025,
		3000, 8191, 8192, 8193, 32_767, 32_769,
		65_536, 199_990, 200_001, 1_000_000, 4_999_990, 5_000_001, 7_500_000,
	}
	n := len(sizes)
	if g.spent() > 1e9 {
		n -= 4
	}
	return sizes[min(g.random.IntN(n), g.random.IntN(n))]
}

// text returns a text of some size.
func (g *hostileEvents) text() string {
	return repeatTo(pick(g.random, "a", "é", "€", "😀", `"`, `\`, "\x01", "\x00", "\u202e", " ", "<", "e\u0301", "%",
		"*", ">", ".", "../", "\ufffd", "\n"), g.size())
}

// repeatTo repeats a text up to a number of bytes.
func repeatTo(text string, size int) string { return strings.Repeat(text, size/len(text)) }

// value returns any JSON. One message may have a few megabytes of it.
func (g *hostileEvents) value() json.RawMessage {
	n := g.size()
	list := func(element string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(element+",", n/len(element)), ",") + "]"
	}
	depth := n / 2
	return json.RawMessage(pick(g.random,
		"null", "true", "{}", "[]", `""`, string(g.number()), string(mustMarshal(g.text())),
		string(mustMarshal(g.instant())),
		strings.Repeat("[", depth)+strings.Repeat("]", depth),
		strings.Repeat(`{"a":`, depth/3)+"1"+strings.Repeat("}", depth/3),
		list("1"), list("null"), list("{}"), list("[]"), list(`""`), list("1.5e300"),
		list(`{"a":1}`), list(`"00000000-0000-4000-8000-000000000000"`), list(`"2026-03-02T09:30:00Z"`),
	))
}

func (g *hostileEvents) number() json.Number {
	return json.Number(pick(g.random, "0", "-1", "1", "-0", "1.5", "1e3", "1E400", "9223372036854775807",
		"9223372036854775808", "-9223372036854775808",
		"1e-400", "2147483648", "0.1e1", "1"+strings.Repeat("0", g.random.IntN(5000)), "0."+strings.Repeat("3",
			1+g.random.IntN(5000))))
}

func (g *hostileEvents) instant() string {
	return pick(g.random, "0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z",
		"10000-01-01T00:00:00Z", "2026-02-30T00:00:00Z",
		"2016-12-31T23:59:60Z", "2026-03-02T09:30:00+23:59", "2026-03-02T09:30:00-00:00", "2026-03-02t09:30:00z",
		"2026-03-02T24:00:00Z", "294277-01-01T00:00:00Z",
		"1969-12-31T23:59:59.9999999Z", "2026-03-02T09:30:00."+strings.Repeat("1", 400)+"Z", "2026-03-02 09:30:00",
		"0000-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59")
}

// insert writes a member with a value that need not be valid JSON, beside one of the same name that there may be.
func (g *hostileEvents) insert(d *draft, name string, value json.RawMessage) {
	data := mustMarshal(d.state)
	d.event.Data = fmt.Appendf(nil, "%s,%s:%s}", data[:len(data)-1], mustMarshal(name), value)
	d.state = nil
}

func (g *hostileEvents) anyMember(d *draft) string {
	names := sortedKeys(d.state)
	name := names[g.random.IntN(len(names))]
	if g.random.IntN(4) > 0 {
		delete(d.state, name)
	}
	return name
}

func (g *hostileEvents) addMembers(d *draft) {
	for i := range min(g.size(), 400_000) {
		d.state["unknown"+strconv.Itoa(i)] = i
	}
}

// stretch makes every text as long, and every list, as the decoder accepts.
func (g *hostileEvents) stretch(d *draft) {
	accepted := func() bool {
		d.event.Data = mustMarshal(d.state)
		_, err := events.Decode(d.event.Message)
		return err == nil && len(d.event.Data) < hostilePayload-100_000
	}
	unit := pick(g.random, "a", "é", `"`, "\u0001")
	for _, p := range places(d.state) {
		var values []any
		switch v := p.value.(type) {
		case string:
			for _, n := range []int{8192, 1024, 512, 64, 62} {
				values = append(values, repeatTo(unit, n))
			}
		case []any:
			for _, n := range []int{1000, 200, 100} {
				if len(mustMarshal(v))/max(len(v), 1)*n < hostilePayload/2 {
					values = append(values, moreElements(g.random, v, n))
				}
			}
		case nil:
			values = []any{repeatTo(unit, 8192), repeatTo(unit, 1024), json.Number("99999999.99"), randomID(g.random)}
		}
		for _, value := range values {
			if p.set(value); accepted() {
				break
			}
			p.set(p.value)
		}
	}
}

// moreElements returns a list with more elements, which have other ids.
func moreElements(random *rand.Rand, list []any, n int) []any {
	more := append([]any{}, list...)
	for i := range n - len(list) {
		if len(list) == 0 {
			more = append(more, randomID(random))
			continue
		}
		element := list[i%len(list)]
		switch v := element.(type) {
		case map[string]any:
			other := map[string]any{}
			for name, value := range v {
				other[name] = value
			}
			if _, found := other["id"]; found {
				other["id"] = randomID(random)
			}
			element = other
		case string:
			if _, err := uuid.Parse(v); err == nil {
				element = randomID(random)
			}
		}
		more = append(more, element)
	}
	return more
}

func (g *hostileEvents) repeatElements(d *draft) {
	for _, p := range places(d.state) {
		if list, ok := p.value.([]any); ok {
			p.set(moreElements(g.random, list, min(g.size(), hostilePayload/(len(mustMarshal(list))/max(len(list),
				1)+1))))
			return
		}
	}
	g.addMembers(d)
}

// damage alters the data's bytes.
func (g *hostileEvents) damage(d *draft) {
	data := mustMarshal(d.state)
	d.state = nil
	at := g.random.IntN(len(data))
	switch g.random.IntN(7) {
	case 0:
		data = data[:at]
	case 1:
		data[at] ^= 1 << g.random.IntN(8)
	case 2:
		data = bytes.Replace(data, []byte(`:"`), []byte(":\"\xff\xc0\xaf"), 1)
	case 3:
		data = append(data, data...)
	case 4:
		data = append([]byte("\xef\xbb\xbf"), data...)
	case 5:
		data = bytes.Replace(data, []byte(`:"`), []byte(`:"\ud800\u0000`), 1)
	case 6:
		data = bytes.Repeat(data[at:at+1], g.size())
	}
	d.event.Data = data
}

func (g *hostileEvents) alterHeader(d *draft) {
	name := pick(g.random, "ce-id", "ce-source", "ce-type", "ce-time", "ce-specversion", "Content-Type",
		"ce-traceparent", "ce-tracestate", "ce-silent", "X-Other")
	switch g.random.IntN(4) {
	case 0:
		delete(d.event.Header, name)
	case 1:
		d.event.Header[name] = []string{strings.ToValidUTF8(repeatTo(pick(g.random, "a", "é", " ", "\x01"),
			min(g.size(), 1_000_000)), "")}
	case 2:
		d.event.Header[name] = append(d.event.Header[name], d.event.Header[name]...)
	case 3:
		for i := range min(g.size(), 20_000) {
			d.event.Header["X-"+strconv.Itoa(i)] = []string{"1"}
		}
	}
	if g.random.IntN(4) == 0 {
		d.event.Header["Content-Type"] = []string{pick(g.random, "application/cloudevents+json",
			"application/cloudevents-batch+json", "text/plain", ";", "application/json;"+strings.Repeat("a", 1000))}
	}
}

// writeHeader sends a header that no client library writes.
func (g *hostileEvents) writeHeader(d *draft) {
	id, kind := d.event.Header.Get("ce-id"), d.event.Header.Get("ce-type")
	rest := "ce-specversion: 1.0\r\nce-id: " + id + "\r\nce-source: x\r\nce-type: " + kind + "\r\n\r\n"
	d.event.rawHeader = pick(g.random,
		"NATS/1.0\r\nno colon\r\n\r\n", "NATS/1.0 503\r\n\r\n", "NATS/1.0 408 Request Timeout\r\n\r\n",
		"NATS/1.0 100 Idle Heartbeat\r\n"+rest, "NATS/1.0 409 Consumer Deleted\r\n"+rest,
		"NATS/1.0\r\n: empty name\r\n"+rest, "NATS/1.0\r\n\xff\xfe: x\r\n"+rest, "NATS/1.0\r\na b: c\r\n"+rest,
		"NATS/1.0\r\n folded\r\n"+rest, "NATS/1.0\r\nX: \x00\r\n"+rest,
		"NATS/1.0\r\n"+strings.Repeat("X: y\r\n", 10_000)+rest, "NATS/1.0\nX: y\n"+rest, "HTTP/1.1 200 OK\r\n"+rest,
		"NATS/1.0\r\nX: "+strings.Repeat("z", 500_000)+"\r\n"+rest)
	if g.random.IntN(3) == 0 {
		d.event.Data, d.state = nil, nil
	}
}

func (g *hostileEvents) addServerHeader(d *draft) {
	name := pick(g.random, "Nats-Stream", "Nats-Subject", "Nats-Sequence", "Nats-Time-Stamp", "Nats-Last-Sequence",
		"Nats-Num-Pending", "Nats-Rollup", "Nats-TTL",
		"Nats-Expected-Stream", "Nats-Expected-Last-Sequence", "Nats-Expected-Last-Msg-Id",
		"Nats-Expected-Last-Subject-Sequence", "Nats-Incr", "Nats-Marker-Reason", "Nats-Pin-Id",
		"Nats-Consumer-Stalled", "Nats-Required-Api-Level", "Nats-Schedule", "Nats-Schedule-Target", "Nats-Batch-Id",
		"Nats-Batch-Sequence", "Nats-Batch-Commit", "KV-Operation",
		"Nats-Counter-Sources", "Nats-Stream-Source", "Status", "Description")
	d.event.Header[name] = []string{pick(g.random, "1", "0", "-1", "x", "all", "sub", events.StreamName,
		"phones.clock", "1s", "PURGE", time.Now().Add(time.Hour).Format(time.RFC3339Nano), strings.Repeat("9", 30))}
	if g.random.IntN(4) == 0 {
		d.event.Data, d.state = nil, nil
	}
}

// pretendStatus is a message that client libraries can take for one of the server.
func (g *hostileEvents) pretendStatus(d *draft) {
	d.event.Data, d.state = nil, nil
	d.event.Header["Status"] = []string{pick(g.random, "100", "404", "408", "409", "423", "503", "200", "x")}
	d.event.Header["Description"] = []string{pick(g.random, "Idle Heartbeat", "FlowControl Request", "No Messages",
		"Consumer Deleted", "Message Size Exceeds MaxBytes", "EOB")}
	if g.random.IntN(2) == 0 {
		d.event.Header["Nats-Consumer-Stalled"] = []string{"$JS.FC.x"}
	}
}

func (g *hostileEvents) repeatID(d *draft) {
	id := pick(g.random, append([]string{
		"", "clock/" + strconv.Itoa(g.random.IntN(10_000)) + "/0", "retry/" + strconv.Itoa(g.random.IntN(1000)),
		strings.Repeat("i", 5000), "\u00e9",
	}, g.ids...)...)
	d.event.Header[nats.MsgIdHdr] = []string{id}
	if g.random.IntN(2) == 0 && id != "" {
		d.event.Header["ce-id"] = []string{id}
	}
}

// alterSubject keeps the subject shorter than the server's control line: the server would close the publisher's
// connection.
func (g *hostileEvents) alterSubject(d *draft) {
	system := strings.Split(d.event.Subject, ".")[1]
	entity := pick(g.random, "call", "fax", "phone-system", "group", "CALL", "é",
		strings.Repeat("e", min(g.size(), 1500)))
	system = pick(g.random, system, system, strings.ToUpper(system), "global", "0", "x", "{"+system+"}",
		strings.ReplaceAll(system, "-", ""), uuid.Nil.String(), strings.Repeat("s", min(g.size(), 1500)))
	d.event.Subject = "phones." + system + "." + entity
}

// storeObjects stores objects, and returns references to them and to others.
func (h *hostile) storeObjects() (list []events.Object) {
	h.tb.Helper()
	ctx := h.tb.Context()
	bucket, err := h.js.ObjectStore(ctx, events.TranscriptBucket)
	if err != nil {
		h.tb.Fatal(err)
	}
	const most = events.MaxBodyBytes
	bodies := []string{
		`{"text":"good","turns":[]}`, `{"text":"` + strings.Repeat("a", 4_000_000) + `","turns":[]}`,
		`{"text":"` + strings.Repeat("é", most/2-50) + `","turns":[]}`,
		strings.Repeat("[", most), `{"text":"x","turns":[],"x":[` + strings.Repeat("1,", most/2-50) + `1]}`, "null",
		"", "\xff\xfe", `{"text":null,"turns":[` +
			strings.TrimSuffix(strings.Repeat(`{"text":"","speaker":null,"startSeconds":null,"endSeconds":null},`,
				200_000), ",") + `]}`,
		`{"text":null,"turns":[` + strings.Repeat("{},", most/3-50) + `{}]}`,
	}
	for i, body := range bodies {
		name := "hostile/" + strconv.Itoa(i)
		info, err := bucket.PutBytes(ctx, name, []byte(body))
		if err != nil {
			h.tb.Fatal(err)
		}
		o := events.Object{Bucket: events.TranscriptBucket, Name: name, Bytes: int64(len(body)), Digest: info.Digest}
		wrongDigest, wrongSize := o, o
		wrongDigest.Digest, wrongSize.Bytes = "SHA-256="+base64.URLEncoding.EncodeToString(make([]byte, 32)), o.Bytes+1
		list = append(list, o, wrongDigest, wrongSize)
	}
	list = append(list, h.breakObjects(bucket, list[0])...)

	for _, name := range []string{"x y", "x..y", "x.>.y", "*", ">", "", ".", "/", "é", "\n", strings.Repeat("n", 512),
		strings.Repeat("n", 3000), strings.Repeat("n", 60_000)} {
		o := list[0]
		o.Name = name
		list = append(list, o)
	}
	for _, name := range []string{"nope", "x.y", "", "*", ">", "x y", strings.Repeat("b", 300), strings.Repeat("b",
		5000)} {
		o := list[0]
		o.Bucket = name
		list = append(list, o)
	}
	for _, size := range []int64{-1, 0, most, most + 1, 1 << 62} {
		o := list[0]
		o.Bytes = size
		list = append(list, o)
	}
	return list
}

// breakObjects stores an object without its chunks, one that is deleted, and a link.
func (h *hostile) breakObjects(bucket jetstream.ObjectStore, valid events.Object) []events.Object {
	h.tb.Helper()
	ctx := h.tb.Context()
	var info [2]*jetstream.ObjectInfo
	for i, name := range []string{"hostile/chunkless", "hostile/deleted"} {
		var err error
		if info[i], err = bucket.PutString(ctx, name, "some text"); err != nil {
			h.tb.Fatal(err)
		}
	}
	stream, err := h.js.Stream(ctx, "OBJ_"+events.TranscriptBucket)
	if err == nil {
		err = stream.Purge(ctx, jetstream.WithPurgeSubject("$O."+events.TranscriptBucket+".C."+info[0].NUID))
	}
	linked, getErr := bucket.GetInfo(ctx, valid.Name)
	_, linkErr := bucket.AddLink(ctx, "hostile/link", linked)
	if err := errors.Join(err, getErr, linkErr, bucket.Delete(ctx, "hostile/deleted")); err != nil {
		h.tb.Fatal(err)
	}
	chunkless, deleted, link := valid, valid, valid
	chunkless.Name, deleted.Name, link.Name = "hostile/chunkless", "hostile/deleted", "hostile/link"
	chunkless.Bytes, chunkless.Digest = int64(info[0].Size), info[0].Digest
	deleted.Bytes, deleted.Digest = int64(info[1].Size), info[1].Digest
	return []events.Object{chunkless, deleted, link}
}

// transcript turns a draft into a transcript of a call.
func (g *hostileEvents) transcript(d *draft) {
	call := randomID(g.random)
	if len(g.calls) > 0 {
		call = g.calls[g.random.IntN(len(g.calls))]
	}
	d.state = map[string]any{"phoneSystemId": g.system, "callId": call, "voicemailId": nil,
		"version": 1 + g.random.IntN(1000), "status": "completed"}
	d.event.Subject = events.Subject(g.system, events.EntityTranscript)
	d.event.Header["ce-type"] = []string{"callboard.transcript.changed"}
}

func (g *hostileEvents) referToObject(d *draft) {
	g.transcript(d)
	o := g.objects[g.random.IntN(len(g.objects))]
	d.event.name = fmt.Sprintf("claim check %.20q %.30q of %d bytes", o.Bucket, o.Name, o.Bytes)
	d.state["object"] = o
	if g.random.IntN(20) == 0 {
		delete(d.state, "object")
		d.event.name = "claim check of another form"
		g.insert(d, "object", g.value())
	}
}

// writeTranscript writes a text and turns of some size.
func (g *hostileEvents) writeTranscript(d *draft) {
	g.transcript(d)
	d.state["text"] = g.text()
	said := g.text()
	turn := map[string]any{"text": said, "speaker": nil, "startSeconds": 1.5, "endSeconds": nil}
	d.state["turns"] = slices.Repeat([]any{turn}, min(g.size(), 7_000_000/(len(said)+60)))
}

// publishRaw publishes a message with a header of any bytes, and returns when the server has it.
func publishRaw(ctx context.Context, address string, bad hostileEvent) error {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString("CONNECT {\"headers\":true,\"verbose\":false}\r\n")
	fmt.Fprintf(&b, "HPUB %s %d %d\r\n%s%s\r\nPING\r\n", bad.Subject, len(bad.rawHeader),
		len(bad.rawHeader)+len(bad.Data), bad.rawHeader, bad.Data)
	if _, err := conn.Write(b.Bytes()); err != nil {
		return err
	}
	answer := make([]byte, 0, 4096)
	for !bytes.Contains(answer, []byte("PONG")) {
		n, err := conn.Read(answer[len(answer):cap(answer)])
		if err != nil {
			return err
		}
		answer = answer[:len(answer)+n]
	}
	return nil
}

// pick draws one of some values.
func pick[T any](random *rand.Rand, values ...T) T { return values[random.IntN(len(values))] }

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

func mustMarshal(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // only what JSON has is encoded
	}
	return data
}

package fault_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
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

	"callboard/events"
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
	poisonSource
	system uuid.UUID
	call   uuid.UUID // the last one
	ids    []string  // of earlier messages
}

func (h *hostile) newEvents(stream uint64, system uuid.UUID) *hostileEvents {
	source := poisonSource{random: rand.New(rand.NewPCG(h.number, 10+stream))}
	return &hostileEvents{hostile: h, poisonSource: source, system: system}
}

// hostileKind alters a valid message.
type hostileKind struct {
	name  string
	alter func(*hostileEvents, *hostileEvent)
}

func hostileKinds() []hostileKind {
	return []hostileKind{
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

// bad returns the next hostile event: of a call, or of a group where there is no phone system.
func (g *hostileEvents) bad() hostileEvent {
	e := g.event(&events.Group{ID: g.id(), Version: 1, Name: "bad"})
	if g.system != uuid.Nil {
		e = g.poisonSource.call(g.system)
		g.call = uuid.MustParse(e.Key)
	}
	g.ids = append(g.ids[max(0, len(g.ids)-100):], e.ID)

	kind := pick(g.random, hostileKinds()...)
	bad := hostileEvent{name: kind.name, Message: encoded(e)}
	bad.Header[nats.MsgIdHdr] = []string{e.ID}
	kind.alter(g, &bad)
	bad.Data = bad.Data[:min(len(bad.Data), hostilePayload-100_000)]
	return bad
}

// size draws a number, and rarely a large one. After a gigabyte there are no large ones.
func (g *hostileEvents) size() int {
	sizes := []int{
		0, 1, 2, 64, 100, 201, 512, 1000, 1024, 8192, 8193, 32_768, 65_536, 199_990, 1_000_000, 4_999_990, 5_000_001, 7_500_000,
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

func (g *hostileEvents) alterHeader(bad *hostileEvent) {
	name := pick(g.random, "ce-id", "ce-source", "ce-type", "ce-time", "ce-specversion", "Content-Type",
		"ce-traceparent", "ce-tracestate", "ce-silent", "X-Other")
	switch g.random.IntN(4) {
	case 0:
		delete(bad.Header, name)
	case 1:
		bad.Header[name] = []string{strings.ToValidUTF8(repeatTo(pick(g.random, "a", "é", " ", "\x01"),
			min(g.size(), 1_000_000)), "")}
	case 2:
		bad.Header[name] = append(bad.Header[name], bad.Header[name]...)
	case 3:
		for i := range min(g.size(), 20_000) {
			bad.Header["X-"+strconv.Itoa(i)] = []string{"1"}
		}
	}
	if g.random.IntN(4) == 0 {
		bad.Header["Content-Type"] = []string{pick(g.random, "application/cloudevents+json",
			"application/cloudevents-batch+json", "text/plain", ";", "application/json;"+strings.Repeat("a", 1000))}
	}
}

// writeHeader sends a header that no client library writes.
func (g *hostileEvents) writeHeader(bad *hostileEvent) {
	id, kind := bad.Header.Get("ce-id"), bad.Header.Get("ce-type")
	rest := "ce-specversion: 1.0\r\nce-id: " + id + "\r\nce-source: x\r\nce-type: " + kind + "\r\n\r\n"
	bad.rawHeader = pick(g.random,
		"NATS/1.0\r\nno colon\r\n\r\n", "NATS/1.0 503\r\n\r\n", "NATS/1.0 408 Request Timeout\r\n\r\n",
		"NATS/1.0 100 Idle Heartbeat\r\n"+rest, "NATS/1.0 409 Consumer Deleted\r\n"+rest,
		"NATS/1.0\r\n: empty name\r\n"+rest, "NATS/1.0\r\n\xff\xfe: x\r\n"+rest, "NATS/1.0\r\na b: c\r\n"+rest,
		"NATS/1.0\r\n folded\r\n"+rest, "NATS/1.0\r\nX: \x00\r\n"+rest,
		"NATS/1.0\r\n"+strings.Repeat("X: y\r\n", 10_000)+rest, "NATS/1.0\nX: y\n"+rest, "HTTP/1.1 200 OK\r\n"+rest,
		"NATS/1.0\r\nX: "+strings.Repeat("z", 500_000)+"\r\n"+rest)
	if g.random.IntN(3) == 0 {
		bad.Data = nil
	}
}

func (g *hostileEvents) addServerHeader(bad *hostileEvent) {
	name := pick(g.random, "Nats-Stream", "Nats-Subject", "Nats-Sequence", "Nats-Time-Stamp", "Nats-Last-Sequence",
		"Nats-Num-Pending", "Nats-Rollup", "Nats-TTL",
		"Nats-Expected-Stream", "Nats-Expected-Last-Sequence", "Nats-Expected-Last-Msg-Id",
		"Nats-Expected-Last-Subject-Sequence", "Nats-Incr", "Nats-Marker-Reason", "Nats-Pin-Id",
		"Nats-Consumer-Stalled", "Nats-Required-Api-Level", "Nats-Schedule", "Nats-Schedule-Target", "Nats-Batch-Id",
		"Nats-Batch-Sequence", "Nats-Batch-Commit", "KV-Operation",
		"Nats-Counter-Sources", "Nats-Stream-Source", "Status", "Description")
	bad.Header[name] = []string{pick(g.random, "1", "0", "-1", "x", "all", "sub", events.StreamName,
		"phones.clock", "1s", "PURGE", time.Now().Add(time.Hour).Format(time.RFC3339Nano), strings.Repeat("9", 30))}
	if g.random.IntN(4) == 0 {
		bad.Data = nil
	}
}

// pretendStatus is a message that client libraries can take for one of the server.
func (g *hostileEvents) pretendStatus(bad *hostileEvent) {
	bad.Data = nil
	bad.Header["Status"] = []string{pick(g.random, "100", "404", "408", "409", "423", "503", "200", "x")}
	bad.Header["Description"] = []string{pick(g.random, "Idle Heartbeat", "FlowControl Request", "No Messages",
		"Consumer Deleted", "Message Size Exceeds MaxBytes", "EOB")}
	if g.random.IntN(2) == 0 {
		bad.Header["Nats-Consumer-Stalled"] = []string{"$JS.FC.x"}
	}
}

func (g *hostileEvents) repeatID(bad *hostileEvent) {
	id := pick(g.random, append([]string{
		"", "clock/" + strconv.Itoa(g.random.IntN(10_000)) + "/0", "retry/" + strconv.Itoa(g.random.IntN(1000)),
		strings.Repeat("i", 5000), "\u00e9",
	}, g.ids...)...)
	bad.Header[nats.MsgIdHdr] = []string{id}
	if g.random.IntN(2) == 0 && id != "" {
		bad.Header["ce-id"] = []string{id}
	}
}

// alterSubject keeps the subject shorter than the server's control line: the server would close the publisher's
// connection.
func (g *hostileEvents) alterSubject(bad *hostileEvent) {
	system := strings.Split(bad.Subject, ".")[1]
	entity := pick(g.random, "call", "fax", "phone-system", "group", "CALL", "é",
		strings.Repeat("e", min(g.size(), 1500)))
	system = pick(g.random, system, system, strings.ToUpper(system), "global", "0", "x", "{"+system+"}",
		strings.ReplaceAll(system, "-", ""), uuid.Nil.String(), strings.Repeat("s", min(g.size(), 1500)))
	bad.Subject = "phones." + system + "." + entity
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
	return list
}

// transcript makes the message a transcript of the last call, with further members.
func (g *hostileEvents) transcript(bad *hostileEvent, members map[string]any) {
	maps.Copy(members, map[string]any{
		"phoneSystemId": g.system, "callId": g.call, "voicemailId": nil, "version": 1 + g.random.IntN(1000),
		"status": "completed",
	})
	bad.Data, _ = json.Marshal(members) // has only what JSON has
	bad.Subject = events.Subject(g.system, events.EntityTranscript)
	bad.Header["ce-type"] = []string{"callboard.transcript.changed"}
}

func (g *hostileEvents) referToObject(bad *hostileEvent) {
	o := pick(g.random, g.objects...)
	g.transcript(bad, map[string]any{"object": o})
	bad.name = fmt.Sprintf("claim check %.30q of %d bytes", o.Name, o.Bytes)
}

// writeTranscript writes a text and turns of some size.
func (g *hostileEvents) writeTranscript(bad *hostileEvent) {
	said := g.text()
	turn := map[string]any{"text": said, "speaker": nil, "startSeconds": 1.5, "endSeconds": nil}
	turns := slices.Repeat([]any{turn}, min(g.size(), 7_000_000/(len(said)+60)))
	g.transcript(bad, map[string]any{"text": g.text(), "turns": turns})
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

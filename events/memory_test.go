package events_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"callboard/events"
)

// What decoding one message or body may allocate in all. A projector with 512 MiB decodes a few at a time.
const maxDecodeMemory = 64 << 20

// hostileBodies returns bodies of the largest size that cost as much memory as their authors can make them.
func hostileBodies() map[string]string {
	const size = 8 << 20
	fill := func(before, element, after string) string {
		return before + strings.Repeat(element, (size-len(before)-len(after))/len(element)) + after
	}
	names := func(before, format, after string) string { // of one object
		var b strings.Builder
		b.WriteString(before)
		for i := 0; b.Len() < size-100; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String() + after
	}
	few := func(n int, before, element, after string) string { return before + strings.Repeat(element, n) + after }
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	many := few(65, "", `"\u0061%d":1,`, "")
	object := "{" + fmt.Sprintf(many, numbers(65)...)
	return map[string]string{
		"numbers":                  fill(`{"x":[`, "1,", "1]}"),
		"escaped strings":          fill(`{"x":[`, `"\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n",`, "1]}"),
		"escaped names":            names(`{"x":{`, `"\u0061\u0061\u0061\u0061\u0061%d":1,`, `"y":1}}`),
		"duplicate names":          fill(`{"x":{`, `"y":1,`, `"y":1}}`),
		"a duplicate name at last": names(`{"x":{`, `"name of about forty characters, number %d":1,`, `"name of about forty characters, number 0":1}}`),
		"arrays":                   fill(`{"x":[`, "[[[[]]]],", "1]}"),
		"as deep as it goes":       deep(9_999),
		"too deep":                 fill("", `{"a":`, ""),
		"objects in large objects": strings.Repeat(object+`"z":`, 3_000) + "1" + strings.Repeat("}", 3_000),
		"turns":                    few(50_000, `{"turns":[`, `{"text":"","speaker":{"kind":"unattributed"}},`, "1]}"),
		"turns of escapes":         fill(`{"turns":[`, `{"text":"\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n","speaker":{"kind":"unattributed"}},`, "1]}"),
		"bad JSON after names":     names(`{"x":{`, `"a name of about forty characters, number %d":1,`, `x}}`),
	}
}

func numbers(n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func TestDecode_BoundsItsMemory(t *testing.T) {
	m := fixture(t, "transcript.changed")
	for name, body := range hostileBodies() {
		m.Data = []byte(body)
		var d events.Decoder
		if allocated := allocatedBy(func() { _, _ = d.Decode(m) }); allocated > maxDecodeMemory {
			t.Errorf("%s: Decode allocates %d MiB, want at most %d", name, allocated>>20, maxDecodeMemory>>20)
		}
		var transcript events.Transcript
		if allocated := allocatedBy(func() { _ = transcript.ReadBody(m.Data) }); allocated > maxDecodeMemory {
			t.Errorf("%s: ReadBody allocates %d MiB, want at most %d", name, allocated>>20, maxDecodeMemory>>20)
		}
		if allocated := allocatedBy(func() { _, _ = events.DecodeLine(m.Data, "/test") }); allocated > maxDecodeMemory {
			t.Errorf("%s: DecodeLine allocates %d MiB, want at most %d", name, allocated>>20, maxDecodeMemory>>20)
		}
	}
}

// allocatedBy returns how many bytes of heap and stack a call takes in all, and with it at most at a time.
func allocatedBy(call func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	done := make(chan struct{})
	go func() { // with a stack of its own
		defer close(done)
		call()
		runtime.ReadMemStats(&after)
	}()
	<-done
	return int64(after.TotalAlloc-before.TotalAlloc) + int64(after.StackInuse) - int64(before.StackInuse)
}

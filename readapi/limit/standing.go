package limit

import (
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// standing is what is left in a bucket.
type standing struct {
	bucket    bucket
	remaining int
	opens     time.Time // when the next permit comes back; zero: none is out
}

// text is the standing as part of a RateLimit header's value.
func (s standing) text(now time.Time) string {
	text := fmt.Sprintf("%q;r=%d", s.bucket.policy, s.remaining)
	if !s.opens.IsZero() {
		text += fmt.Sprintf(";t=%d", seconds(s.opens.Sub(now)))
	}
	return text
}

// enquiry asks for a bucket's oldest message, as a batch of one, which tells how many follow.
func (l *ledger) enquiry(b bucket) *nats.Msg {
	return &nats.Msg{Subject: l.direct, Data: fmt.Appendf(nil, `{"next_by_subj":%q,"seq":1,"batch":1}`, b.subject)}
}

// standing reads the answer to an [ledger.enquiry]. False: it is none.
func (l *ledger) standing(b bucket, m *nats.Msg) (standing, bool) {
	if m.Header.Get("Status") == "404" {
		return standing{bucket: b, remaining: b.quota}, true
	}
	more, err := strconv.Atoi(m.Header.Get("Nats-Num-Pending"))
	if err != nil {
		return standing{}, false
	}
	oldest, err := time.Parse(time.RFC3339Nano, m.Header.Get("Nats-Time-Stamp"))
	if err != nil {
		return standing{}, false
	}
	return standing{bucket: b, remaining: max(0, b.size-more-1) / b.weight, opens: l.opens(oldest)}, true
}

// expiryLag is how late the server may forget a message.
const expiryLag = 250 * time.Millisecond

// opens is when a permit comes back.
func (l *ledger) opens(stored time.Time) time.Time {
	latest := time.Now().Add(l.stream.MaxAge)
	if opens := l.clock.Load().toHere(stored).Add(l.stream.MaxAge + expiryLag); opens.Before(latest) {
		return opens
	}
	return latest
}

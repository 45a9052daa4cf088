package readapi

import (
	"testing"

	"github.com/google/uuid"

	"callboard/readapi/access"
)

// A system that is absent, was deleted, is another tenant's or outside the grant, and a record that is absent or in another
// system, are one answer to the byte.
func TestStatus_OneNotFound(t *testing.T) {
	r := newReader(t)
	system, other, deleted := r.system("one"), r.system("two"), r.system("gone")
	r.exec("delete from projection.phone_system where id = $1", deleted)
	extension := r.extension(system)
	mine, theirs := call{id: uuid.New(), sid: "CA1", createdAt: at(watermark)}, call{id: uuid.New(), sid: "CA2", createdAt: at(watermark)}
	r.calls(system, mine)
	r.calls(other, theirs)
	key, gone, narrowed := r.key(system), r.key(deleted), r.key(system, narrowedTo(extension))
	path := func(system, call uuid.UUID) string {
		return "/customer/phone-systems/" + system.String() + "/call-logs/" + call.String()
	}
	if w := r.get(path(system, mine.id), withKey(key)); w.Code != 200 {
		t.Fatalf("the call itself: %d", w.Code)
	}
	var first string
	for name, w := range map[string]*answered{
		"unknown system":          {path(uuid.New(), mine.id), key},
		"zero system":             {path(uuid.Nil, mine.id), key},
		"another's system":        {path(other, theirs.id), key},
		"another's call":          {path(system, theirs.id), key},
		"unknown call":            {path(system, uuid.New()), key},
		"the grant's own, gone":   {path(deleted, mine.id), gone},
		"not the extension's own": {path(system, mine.id), narrowed},
	} {
		answer := r.get(w.path, withKey(w.key), with("X-Request-Id", "same"))
		whole := masked(answer) + headerText(answer.Header())
		if first == "" {
			first = whole
		}
		if answer.Code != 404 || whole != first {
			t.Errorf("%s: %d %s, want %s", name, answer.Code, whole, first)
		}
	}
}

// Outside the contract nobody asks for a key, so nothing is said of its budget; all else is the same.
func TestStatus_NotFoundOutsideTheContract(t *testing.T) {
	r := newReader(t)
	system := r.system("one")
	path := "/customer/phone-systems/" + system.String() + "/call-log"
	outside := r.get(path, withKey(r.key(system)), with("X-Request-Id", "same"))
	absent := r.get(path+"s/"+uuid.NewString(), withKey(r.key(system)), with("X-Request-Id", "same"))
	for _, name := range []string{"RateLimit", "RateLimit-Policy"} {
		if absent.Header().Get(name) == "" {
			t.Errorf("no %s inside the contract", name)
		}
		absent.Header().Del(name)
	}
	if outside.Code != 404 || masked(outside) != masked(absent) || headerText(outside.Header()) != headerText(absent.Header()) {
		t.Errorf("%d %s %s, want %s %s", outside.Code, outside.Body, headerText(outside.Header()), absent.Body, headerText(absent.Header()))
	}
}

type answered struct {
	path string
	key  access.IssuedKey
}

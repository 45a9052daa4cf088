package access

import (
	"hash/crc32"
	"os"
	"regexp"
	"strings"
	"testing"
)

// policy is the section of SECURITY.md for tools that scan for keys.
type policy struct {
	form           *regexp.Regexp
	digits         string
	text, checksum string // its example
}

func readPolicy(t *testing.T) policy {
	t.Helper()
	text, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?m)^```\n(.*)\n```$").FindAllStringSubmatch(string(text), -1)
	example := regexp.MustCompile("checksum of `([^`]+)` is `([^`]+)`").FindStringSubmatch(string(text))
	if len(blocks) != 2 || example == nil {
		t.Fatalf("code blocks = %d, want 2; example = %v", len(blocks), example)
	}
	return policy{form: regexp.MustCompile(blocks[0][1]), digits: blocks[1][1], text: example[1], checksum: example[2]}
}

// sum computes the checksum by the rule in SECURITY.md.
func (p policy) sum(text string) string {
	var digits [6]byte
	n := crc32.ChecksumIEEE([]byte(text))
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = p.digits[n%62]
		n /= 62
	}
	return string(digits[:])
}

// The regular expression in SECURITY.md finds every key in any text, and nothing else.
func TestSecurityPolicy_FindsKeys(t *testing.T) {
	p := readPolicy(t)
	if p.sum(p.text) != p.checksum || checksum(p.text) != p.checksum {
		t.Errorf("checksum of the example = %s by SECURITY.md, %s by the code, want %s", p.sum(p.text), checksum(p.text), p.checksum)
	}
	for range 1000 {
		key := NewKey().Reveal()
		for _, around := range []string{"%", "KEY=\"%\"", "{\"key\":\"%\"}", "X-API-Key: %\r\n", "https://example.com/?key=%&x=1", "- %, and"} {
			if found := p.form.FindString(strings.Replace(around, "%", key, 1)); found != key {
				t.Fatalf("characters found = %d, want %d in %s", len(found), len(key), around)
			}
		}
		if body, sum := key[:len(key)-6], key[len(key)-6:]; p.sum(body) != sum {
			t.Fatal("the checksum of a key differs from the rule in SECURITY.md")
		}
		for name, no := range map[string]string{
			"a publishable key": "pk" + key[2:], "a key that is too short": key[:len(key)-1], "a key that is too long": key + "0",
			"a shorter short part": key[:11] + key[12:], "another prefix": strings.Replace(key, "phones", "phone", 1),
			"the public part of a key": keyOf(key).String(), "a longer word": "x" + key, "a placeholder": "sk_phones_<short>_<secret>",
		} {
			if p.form.MatchString(no) {
				t.Fatalf("%s matches the form of a key", name)
			}
		}
	}
}

package scenario_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// canaries are secrets, by what they are, and all that was said by programs that hold them.
type canaries struct {
	secrets map[string]string
	said    []saying
}

// saying is what came out somewhere.
type saying struct{ where, text string }

func newCanaries() *canaries { return &canaries{secrets: map[string]string{}} }

// hide makes a secret one that must not be said.
func (c *canaries) hide(name, secret string) { c.secrets[name] = secret }

// hear keeps what came out somewhere.
func (c *canaries) hear(where, text string) { c.said = append(c.said, saying{where, text}) }

// found are the places where a secret shows, and the form in which it does. It holds no secret itself.
func (c *canaries) found() []string {
	var list []string
	for name, secret := range c.secrets {
		for form, text := range disguises(secret) {
			for _, s := range c.said {
				if strings.Contains(s.text, text) {
					list = append(list, fmt.Sprintf("%s shows the %s (%s)", s.where, name, form))
				}
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

const plain = "plain"

// disguises are the forms in which a secret can come out: as it is, as encoders write it, and as Go prints bytes.
func disguises(secret string) map[string]string {
	digits := hex.EncodeToString([]byte(secret))
	quoted, _ := json.Marshal(secret) // a string always has a JSON form
	forms := map[string]string{
		plain:                      secret,
		"in JSON":                  strings.Trim(string(quoted), `"`),
		"in Go":                    strings.Trim(fmt.Sprintf("%q", secret), `"`),
		"as bytes":                 strings.Trim(fmt.Sprintf("%d", []byte(secret)), "[]"),
		"in hexadecimal":           digits,
		"in capital hexadecimal":   strings.ToUpper(digits),
		"escaped for a URL query":  url.QueryEscape(secret),
		"escaped for a URL path":   url.PathEscape(secret),
		"escaped for a URL's user": strings.TrimPrefix(url.UserPassword("", secret).String(), ":"),
	}
	for before := range 3 {
		forms[fmt.Sprintf("in base64 behind %d bytes", before)] = inBase64(base64.StdEncoding, secret, before)
		forms[fmt.Sprintf("in URL base64 behind %d bytes", before)] = inBase64(base64.URLEncoding, secret, before)
	}
	maps.DeleteFunc(forms, func(form, text string) bool { return form != plain && text == secret })
	return forms
}

// inBase64 is as much of the encoded secret as doesn't depend on what stands around it: that many bytes, modulo 3, before it.
func inBase64(encoding *base64.Encoding, secret string, before int) string {
	length := before + len(secret)
	text := encoding.EncodeToString([]byte(strings.Repeat("x", before) + secret))
	return text[(before*8+5)/6 : length/3*4]
}

// The search finds a secret in every form, and in what encoders make of text that holds it.
func TestCanaries_Search(t *testing.T) {
	const secret = "s3cr/t+\"wörd\"%"
	texts := map[string]string{"basic": base64.StdEncoding.EncodeToString([]byte("user:" + secret + "@host"))}
	for form, text := range disguises(secret) {
		texts[form] = "around " + text + " around"
	}
	for _, before := range []string{"", "u", "us", "use"} {
		texts["raw behind "+before] = base64.RawURLEncoding.EncodeToString([]byte(before + secret))
	}
	for form, text := range texts {
		c := newCanaries()
		c.hide("secret", secret)
		c.hear("a log", "nothing")
		if found := c.found(); len(found) > 0 {
			t.Errorf("%s: found in nothing: %v", form, found)
		}
		c.hear("a log", text)
		if found := c.found(); len(found) == 0 || strings.Contains(strings.Join(found, ""), secret) {
			t.Errorf("%s: %v", form, found)
		}
	}
}

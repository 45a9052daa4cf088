package access

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"pgregory.net/rapid"
)

var keyForm = regexp.MustCompile(`^sk_phones_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}$`)

func TestNewKey(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for range 1000 {
		key := NewKey()
		text := key.Reveal()
		if !keyForm.MatchString(text) || seen[text] || seen[key.Short()] {
			t.Fatalf("key %s is malformed or not unique", text)
		}
		seen[text], seen[key.Short()] = true, true
		if c := Parse(text); c.Kind != TenantKey || c.Key.Reveal() != text || c.Key.Short() != text[10:22] {
			t.Errorf("Parse(%s) = %v, want the key", text, c)
		}
	}
}

// A key with a wrong, swapped, missing or additional character is malformed.
func TestParse_Typos(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := NewKey().Reveal()
		i := rapid.IntRange(len(KeyPrefix), len(text)-2).Draw(t, "index")
		c := rapid.StringMatching(`[ -~]`).Draw(t, "character")
		for _, typo := range []string{
			text[:i] + c + text[i+1:],
			text[:i] + text[i+1:i+2] + text[i:i+1] + text[i+2:],
			text[:i] + text[i+1:],
			text[:i] + c + text[i:],
		} {
			if typo != text && Parse(typo).Kind != Malformed {
				t.Errorf("Parse(%s) accepts a typo of %s", typo, text)
			}
		}
	})
}

func TestCredentialOf(t *testing.T) {
	t.Parallel()
	key := NewKey().Reveal()
	for _, c := range []struct {
		name                  string
		apiKey, authorization []string
		want                  Kind
	}{
		{"nothing", nil, nil, Malformed},
		{"a key", []string{key}, nil, TenantKey},
		{"a bearer key", nil, []string{"Bearer " + key}, TenantKey},
		{"a scheme in another case and more spaces", nil, []string{"bEaReR   " + key}, TenantKey},
		{"another scheme", nil, []string{"Basic " + key}, Malformed},
		{"no scheme", nil, []string{key}, Malformed},
		{"a scheme alone", nil, []string{"Bearer"}, Malformed},
		{"two keys", []string{key, key}, nil, Malformed},
		{"two authorizations", nil, []string{"Bearer " + key, "Bearer " + key}, Malformed},
		{"X-API-Key wins when good", []string{key}, []string{"Bearer a.b.c"}, TenantKey},
		{"X-API-Key wins when bad", []string{"x"}, []string{"Bearer " + key}, Malformed},
		{"X-API-Key wins when empty", []string{""}, []string{"Bearer " + key}, Malformed},
		{"a session token", nil, []string{"Bearer eyJ.eyJ.sig"}, OtherCredential},
		{"an unsigned session token", []string{"eyJ.eyJ."}, nil, OtherCredential},
		{"two parts", []string{"a.b"}, nil, Malformed},
		{"four parts", []string{"a.b.c.d"}, nil, Malformed},
		{"a publishable key", []string{"pk_phones_" + key[10:]}, nil, OtherCredential},
		{"a publishable key of another family", []string{"pk_live_1"}, nil, OtherCredential},
		{"a platform key", []string{"sk_platform_1"}, nil, OtherCredential},
		{"only the prefix", []string{"sk_phones_"}, nil, Malformed},
		{"the prefix with dots", []string{"sk_phones_a.b.c"}, nil, Malformed},
		{"a family in upper case", []string{"SK_PHONES_" + key[10:]}, nil, Malformed},
	} {
		header := http.Header{}
		for _, value := range c.apiKey {
			header.Add("X-API-Key", value)
		}
		for _, value := range c.authorization {
			header.Add("Authorization", value)
		}
		if got := CredentialOf(header); got.Kind != c.want {
			t.Errorf("%s: kind = %v, want %v", c.name, got.Kind, c.want)
		}
	}
}

// printed returns a value as printed with every verb, as JSON and in a log.
func printed(tb testing.TB, value any) string {
	tb.Helper()
	type holder struct {
		Exported any
		hidden   any
	}
	h := holder{value, value}
	var all strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%p", "%T"} {
		for _, v := range []any{value, &value, h, &h, []any{value}, map[string]any{"a": value}} {
			fmt.Fprintf(&all, verb+"\n", v)
		}
	}
	text, err := json.Marshal(h)
	if err != nil {
		tb.Fatal(err)
	}
	all.Write(text)
	log := zerolog.New(&all)
	log.Info().Interface("a", value).Any("b", h).Str("c", fmt.Sprint(value)).Msg("")
	return all.String()
}

// byteList formats the bytes of a text like fmt, without the brackets.
func byteList(text string) string { return strings.Trim(fmt.Sprintf("%d", []byte(text)), "[]") }

func TestSecretsDoNotPrint(t *testing.T) {
	t.Parallel()
	key := NewKey()
	secret := bytes.Repeat([]byte("pepper! "), 4)
	pepper, err := NewPepper(secret)
	if err != nil {
		t.Fatal(err)
	}
	type inUnexportedFields struct {
		key    Key
		pepper Pepper
	}
	whole := printed(t, key) + printed(t, pepper) + printed(t, Credential{Kind: TenantKey, Key: key}) +
		printed(t, inUnexportedFields{key, pepper}) + printed(t, IssuedKey{Key: key})
	part := key.Reveal()[23:40]
	for _, forbidden := range []string{
		part, fmt.Sprintf("%x", part), fmt.Sprintf("%X", part), byteList(part),
		"pepper! ", fmt.Sprintf("%x", "pepper! "), byteList("pepper! "), base64.StdEncoding.EncodeToString(secret[:6]),
	} {
		if strings.Contains(whole, forbidden) {
			t.Errorf("a secret is printed as %q", forbidden)
		}
	}
	if !strings.Contains(whole, key.Short()) || !strings.Contains(whole, pepper.ID()) {
		t.Errorf("the public parts are not printed: %s", whole)
	}
}

func TestPepper(t *testing.T) {
	t.Parallel()
	secret := bytes.Repeat([]byte{0xfb, 0xff}, 16)
	for text, valid := range map[string]bool{
		base64.StdEncoding.EncodeToString(secret):        true,
		base64.RawStdEncoding.EncodeToString(secret):     true,
		base64.URLEncoding.EncodeToString(secret) + "\n": true,
		base64.StdEncoding.EncodeToString(secret[:31]):   false,
		"":            false,
		"not base 64": false,
	} {
		pepper, err := ParsePepper(text)
		if (err == nil) != valid {
			t.Errorf("ParsePepper(%q): error = %v, want valid: %t", text, err, valid)
		}
		if valid && len(pepper.ID()) != 8 {
			t.Errorf("id = %q, want 8 digits", pepper.ID())
		}
	}
}

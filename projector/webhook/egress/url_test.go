package egress_test

import (
	"strings"
	"testing"

	"callboard/projector/webhook/egress"
)

func TestCheckURLReturnsTheCanonicalForm(t *testing.T) {
	open := newHarness(t).client("10.0.0.0/8", "127.0.0.1/32", "fd00::/8")
	for raw, want := range map[string]string{
		"https://hooks.example":                    "https://hooks.example/",
		"HTTPS://Hooks.EXAMPLE.:443/In?a=b&c":      "https://hooks.example/In?a=b&c",
		"https://bücher.example/é":                 "https://xn--bcher-kva.example/%C3%A9",
		"https://a_b.example:8443/x%2Fy":           "https://a_b.example:8443/x%2Fy",
		"https://r3---sn-1.example/":               "https://r3---sn-1.example/",
		"https://8.8.8.8/":                         "https://8.8.8.8/",
		"https://[2606:4700:4700::0:1111]/":        "https://[2606:4700:4700::1111]/",
		"https://127.0.0.1:25/":                    "https://127.0.0.1:25/",
		"https://[::ffff:10.1.2.3]:9000/":          "https://10.1.2.3:9000/",
		"https://[fd00::1]:9000/":                  "https://[fd00::1]:9000/",
		"https://names.may.be.in.networks.de:9000": "https://names.may.be.in.networks.de:9000/",
	} {
		got, err := open.CheckURL(raw)
		if err != nil || got != want {
			t.Errorf("CheckURL(%q) = %q, %v, want %q", raw, got, err, want)
		}
		again, err := open.CheckURL(got)
		if err != nil || again != got {
			t.Errorf("CheckURL(%q) = %q, %v, want the same", got, again, err)
		}
	}
}

// refusedURLs are URLs that every client without networks refuses, by what the error says.
func refusedURLs() map[string][]string {
	const special = "is not a public address: allow its network with CALLBOARD_WEBHOOK_ALLOW_NETWORKS"
	return map[string][]string{
		special: {
			"https://169.254.169.254/latest", "https://127.0.0.1.", "https://127.0.0.1", "https://10.0.0.1", "https://172.31.255.255", "https://100.64.0.1", "https://255.255.255.255", "https://224.0.0.1", "https://192.0.0.192", "https://[::ffff:10.0.0.1]",
			"https://[::ffff:a00:1]", "https://[::]", "https://[::1]", "https://[::127.0.0.1]", "https://[fe80::1]", "https://[fd00:ec2::254]",
			"https://[64:ff9b::a00:1]", "https://[64:ff9b:1::1]", "https://[2002:a00:1::1]", "https://[2001::1]", "https://[2001:db8::1]",
			"https://[3fff::1]", "https://[ff02::1]", "https://10.0.0.1:25",
		},
		"port 25 is not allowed: use one of 443, 8443, or allow it with CALLBOARD_WEBHOOK_PORTS": {
			"https://hooks.example:25", "https://8.8.8.8:25",
		},
		"does not exist: use one from 1 to 65535": {"https://hooks.example:0", "https://hooks.example:65536"},
		"does not begin with https://":            {"http://hooks.example", "ftp://hooks.example", "hooks.example", "//hooks.example", ""},
		"has a user name or a password":           {"https://user@hooks.example", "https://u:p@hooks.example", "https://@hooks.example"},
		"has a fragment":                          {"https://hooks.example/#x", "https://hooks.example/#"},
		"has no host":                             {"https://", "https:///path", "https://:443/"},
		"is not valid: write it as https://host/path": {
			"https:hooks.example", "https://hooks.example:port/", "https://%31.example", "https://[::1", "https://a/%zz",
			"https://[fe80::1%25eth0]x", "https://[1.2.3.4:5]", "https://[:::1]",
		},
		"has a blank or a control character": {
			"https://hooks.example/a b", " https://hooks.example", "https://hooks.example/\n", "https://hooks.example/\x7f",
		},
		"query has characters that are not ASCII": {"https://hooks.example/?é"},
		"is not a valid name": {
			"https://a..example", "https://hooks.example..", "https://.", "https://a*b.example", "https://xn--a\u0080.example",
			"https://" + strings.Repeat("a", 64) + ".example", "https://" + strings.Repeat("a.", 127) + "example",
		},
		"is neither a name nor an address": {
			"https://256.256.256.256", "https://1.2.3.4.5", "https://4294967296", "https://08", "https://a.example.1", "https://1.256.1",
			"https://127.1", "https://0x7f000001", "https://0X7F.1", "https://2130706433", "https://0177.0.0.1", "https://0", "https://0x",
			"https://192.168.1", "https://[fe80::1%25eth0]",
		},
		"has more than 2048 bytes": {"https://hooks.example/" + strings.Repeat("a", 2048), "https://hooks.example/" + strings.Repeat("é", 600)},
	}
}

func TestCheckURLRefuses(t *testing.T) {
	h := newHarness(t)
	for want, urls := range refusedURLs() {
		for _, raw := range urls {
			checkRefused(t, h.client(), raw, want)
		}
	}
	checkRefused(t, h.client("10.0.0.0/8"), "https://127.0.0.1:8443/", "is not a public address")
	checkRefused(t, h.client("10.0.0.0/8"), "https://8.8.8.8:25/", "port 25 is not allowed")
}

func checkRefused(t *testing.T, client *egress.Client, raw, want string) {
	t.Helper()
	got, err := client.CheckURL(raw)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("CheckURL(%q) = %q, %v, want the error %q", raw, got, err, want)
	}
	if _, err := client.Connect(raw, 1); err == nil {
		t.Errorf("Connect(%q) succeeds, want an error", raw)
	}
}

func TestCheckURLDoesNotRepeatTheQuery(t *testing.T) {
	client := newHarness(t).client()
	for _, raw := range []string{
		"http://hooks.example/?" + query, "https://hooks.example:port/?" + query, "https://u:" + query + "@hooks.example/?" + query,
		"https://10.0.0.1/?" + query, "https://a..b/?" + query, "https://hooks.example/?" + query + "\x00", "https://u:p?" + query + "@b",
	} {
		if _, err := client.CheckURL(raw); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("CheckURL(%q) = %v, want an error without the query", raw, err)
		}
	}
}

func TestPortsOfTheConfigReplaceTheDefaults(t *testing.T) {
	client := egress.New(egress.Config{Ports: []uint16{9443}})
	checkRefused(t, client, "https://hooks.example/", "port 443 is not allowed: use one of 9443")
	if _, err := client.CheckURL("https://hooks.example:9443/"); err != nil {
		t.Errorf("CheckURL with an allowed port = %v, want no error", err)
	}
}

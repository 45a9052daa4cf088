package sample

import (
	"embed"
	"strconv"
	"strings"

	"callboard/events"
)

//go:embed data
var data embed.FS

// library is all text and all lists that companies are made of.
type library struct {
	first, last, places []string
	exchanges           []exchange
	common              *script
	trades              []*trade
}

func newLibrary() *library {
	l := &library{
		first:  lines("data/first.txt"),
		last:   lines("data/last.txt"),
		places: lines("data/places.txt"),
		common: parseScript(read("data/common.txt")),
	}
	for _, line := range lines("data/exchanges.txt") {
		l.exchanges = append(l.exchanges, parseExchange(line))
	}
	for _, name := range []string{"dental", "garage", "law", "vet", "plumbing", "bakery"} {
		l.trades = append(l.trades, newTrade(parseScript(read("data/trades/"+name+".txt")), l.common))
	}
	return l
}

// read is the text of an embedded file; that each is there is the compiler's and the tests' business.
func read(name string) string {
	text, _ := data.ReadFile(name)
	return string(text)
}

func lines(name string) []string { return strings.Split(strings.TrimSpace(read(name)), "\n") }

// person is a name.
type person struct {
	first, last string
}

func (p person) name() string { return p.first + " " + p.last }

func (l *library) person(d *dice) person { return person{pick(d, l.first), pick(d, l.last)} }

// exchange is where telephone numbers come from: a range that is kept free for fiction.
type exchange struct {
	country string // ISO 3166-1
	zone    int    // hours from UTC; summer time would need a table that changes under our feet
	place   string
	prefix  string // of the E.164 number
	display string // prefix as people write it
	digits  int    // that are free
}

func parseExchange(line string) exchange {
	words := strings.SplitN(line, " ", 5)
	e := exchange{country: words[0], place: words[2], prefix: words[3], display: words[4], digits: 3}
	e.zone, _ = strconv.Atoi(words[1])
	if e.country == "US" {
		e.digits = 2
	}
	return e
}

// number is a telephone number and how people write it.
type number struct {
	e164, display string
}

// number is the exchange's n-th number; there are size of them.
func (e *exchange) number(n int) number {
	suffix := strconv.Itoa(e.size() + n%e.size())[1:]
	return number{e.prefix + suffix, e.display + suffix}
}

func (e *exchange) size() int {
	if e.digits == 2 {
		return 100
	}
	return 1000
}

// emergency is the number to call for help.
func (e *exchange) emergency() string {
	if e.country == "GB" {
		return "999"
	}
	return "911"
}

// money writes an amount of whole units as people say it.
func (e *exchange) money(amount int) string {
	if e.country == "GB" {
		return "£" + strconv.Itoa(amount)
	}
	return "$" + strconv.Itoa(amount)
}

// mediaURL is the address of a greeting or prompt.
func mediaURL(system, path string) events.Null[string] {
	return events.Some("https://media.example/" + system + "/" + path + ".mp3")
}

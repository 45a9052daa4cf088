package query

import _ "embed" // the statements

//go:embed list_phones.sql
var listPhonesSQL string

//go:embed get_phone.sql
var getPhoneSQL string

// Phones are a system's phones.
func (p *Projection) Phones() *List {
	return p.list("phones", source{
		counted: "phone",
		rows:    listPhonesSQL,
		picks:   []condition{equals(ExtensionID)},
		divides: equals(Status),
	})
}

// Phone is a phone with its hardware and its place.
func (p *Projection) Phone() *Detail { return p.detail("phone", getPhoneSQL, "id") }

package query

import _ "embed" // the statements

//go:embed list_phone_numbers.sql
var listPhoneNumbersSQL string

//go:embed get_phone_number.sql
var getPhoneNumberSQL string

// PhoneNumbers are a system's phone numbers.
func (p *Projection) PhoneNumbers() *List {
	return p.list("phone numbers", source{
		counted: "phone_number",
		rows:    listPhoneNumbersSQL,
		picks:   []condition{equals(PhoneNumber)},
		divides: equals(Status),
	})
}

// PhoneNumber is a phone number with its origin.
func (p *Projection) PhoneNumber() *Detail { return p.detail("phone number", getPhoneNumberSQL, "id") }

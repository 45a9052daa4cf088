package query

import _ "embed" // the statements

//go:embed list_call_menus.sql
var listCallMenusSQL string

//go:embed get_call_menu.sql
var getCallMenuSQL string

// CallMenus are a system's call menus.
func (p *Projection) CallMenus() *List {
	return p.list("call menus", source{
		counted: "call_menu",
		rows:    listCallMenusSQL,

		divides: equals(Status),
	})
}

// CallMenu is a call menu with its prompt and choices.
func (p *Projection) CallMenu() *Detail { return p.detail("call menu", getCallMenuSQL, "id") }

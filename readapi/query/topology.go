package query

import _ "embed" // the statements

//go:embed list_phones.sql
var listPhonesSQL string

//go:embed get_phone.sql
var getPhoneSQL string

// Phones lists a system's phones.
func (p *Projection) Phones() *List {
	return p.list("phones", listSource{
		list: "phone", rows: listPhonesSQL, selective: []condition{equals(ExtensionID)}, counted: equals(Status),
	})
}

// Phone is a phone with its hardware and position.
func (p *Projection) Phone() *Detail { return p.detail("phone", getPhoneSQL, listPhonesSQL, "id") }

//go:embed list_phone_numbers.sql
var listPhoneNumbersSQL string

//go:embed get_phone_number.sql
var getPhoneNumberSQL string

// PhoneNumbers lists a system's phone numbers.
func (p *Projection) PhoneNumbers() *List {
	return p.list("phone numbers", listSource{
		list: "phone_number", rows: listPhoneNumbersSQL, selective: []condition{equals(PhoneNumber)}, counted: equals(Status),
	})
}

// PhoneNumber is a phone number with its origin.
func (p *Projection) PhoneNumber() *Detail {
	return p.detail("phone number", getPhoneNumberSQL, listPhoneNumbersSQL, "id")
}

//go:embed list_extensions.sql
var listExtensionsSQL string

//go:embed get_extension.sql
var getExtensionSQL string

// Extensions lists a system's extensions.
func (p *Projection) Extensions() *List {
	return p.list("extensions", listSource{
		list: "extension", rows: listExtensionsSQL, selective: []condition{equals(Number)}, counted: equals(Status),
	})
}

// Extension is an extension with its phones and its unanswered action.
func (p *Projection) Extension() *Detail {
	return p.detail("extension", getExtensionSQL, listExtensionsSQL, "id")
}

//go:embed list_agent_configs.sql
var listAgentConfigsSQL string

// AgentConfigs lists a system's agent configs.
func (p *Projection) AgentConfigs() *List {
	return p.list("agent configs", listSource{
		list: "agent_config", rows: listAgentConfigsSQL, selective: []condition{equals(AgentNumber)}, counted: equals(Status),
	})
}

// AgentConfig is an agent config with the columns of the list.
func (p *Projection) AgentConfig() *Detail {
	return p.detail("agent config", listAgentConfigsSQL, listAgentConfigsSQL, "id")
}

//go:embed list_call_groups.sql
var listCallGroupsSQL string

//go:embed get_call_group.sql
var getCallGroupSQL string

// CallGroups lists a system's call groups.
func (p *Projection) CallGroups() *List {
	return p.list("call groups", listSource{
		list: "call_group", rows: listCallGroupsSQL, selective: []condition{equals(Number)}, counted: equals(Status),
	})
}

// CallGroup is a call group with its members and its unanswered action.
func (p *Projection) CallGroup() *Detail {
	return p.detail("call group", getCallGroupSQL, listCallGroupsSQL, "id")
}

//go:embed list_call_menus.sql
var listCallMenusSQL string

//go:embed get_call_menu.sql
var getCallMenuSQL string

// CallMenus lists a system's call menus.
func (p *Projection) CallMenus() *List {
	return p.list("call menus", listSource{list: "call_menu", rows: listCallMenusSQL, counted: equals(Status)})
}

// CallMenu is a call menu with its prompt and choices.
func (p *Projection) CallMenu() *Detail {
	return p.detail("call menu", getCallMenuSQL, listCallMenusSQL, "id")
}

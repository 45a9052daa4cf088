package access

// The statements that decide about a key and a phone system, or the list of its phone systems.
func AuthorizeSQL() string     { return authorizeSQL }
func AuthorizeListSQL() string { return authorizeListSQL }

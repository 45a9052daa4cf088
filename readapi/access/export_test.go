package access

// AuthorizeSQL is the statement that decides about a key.
func AuthorizeSQL() string { return authorizeSQL }

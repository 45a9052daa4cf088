select access.withdraw($1, $2, $3)

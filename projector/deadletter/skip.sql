select control.skip($1, $2::smallint, $3, $4, $5, $6, $7, $8)

select control.skip($1, $2, $3::smallint, $4, $5, $6, $7, $8, $9)

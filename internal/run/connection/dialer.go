package connection

import "net"

// natsDialer dials NATS servers. It closes a connection when a write has failed: nats.go keeps one open whose server did not read what was
// published while no connection was there, and waits for its reader to end, which lasts until the server gives the connection up.
type natsDialer struct{ dialer net.Dialer }

// Dial dials a server.
func (d *natsDialer) Dial(network, address string) (net.Conn, error) {
	conn, err := d.dialer.Dial(network, address)
	if err != nil {
		return nil, err
	}
	return &natsConn{Conn: conn}, nil
}

// natsConn is a connection to a NATS server.
type natsConn struct{ net.Conn }

// Write writes, and closes the connection if that fails.
func (c *natsConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err != nil {
		_ = c.Close() // the write's error is the cause
	}
	return n, err
}

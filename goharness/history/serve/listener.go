package serve

import (
	"net"
	"sync"
)

// mostConnections are open at once; who comes then waits. A connection that says nothing is closed after five seconds.
const mostConnections = 256

// Listener accepts a bounded number of connections, each of which costs memory and a file descriptor.
func Listener(l net.Listener) net.Listener {
	return &bounded{l, make(chan struct{}, mostConnections)}
}

type bounded struct {
	net.Listener
	open chan struct{}
}

func (b *bounded) Accept() (net.Conn, error) {
	b.open <- struct{}{} // one is given back within the limits of time of the server
	c, err := b.Listener.Accept()
	if err != nil {
		<-b.open
		return nil, err
	}
	return &counted{Conn: c, done: sync.OnceFunc(func() { <-b.open })}, nil
}

type counted struct {
	net.Conn
	done func()
}

func (c *counted) Close() error {
	defer c.done()
	return c.Conn.Close()
}

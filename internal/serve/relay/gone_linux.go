package relay

import (
	"encoding/binary"
	"syscall"
)

// States of a TCP connection, as Linux numbers them.
const (
	tcpClose     = 7 // the connection was reset, or both sides have ended it
	tcpCloseWait = 8 // the other side has ended the connection, and sends nothing more
)

// hungUp reports whether the client has left; bytes that it sent before may still be there to be read. A payer asks before every wait for
// the client's address, as a client that has left needs no answer.
func (c *cork) hungUp() bool {
	under, ok := c.Conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := under.SyscallConn()
	if err != nil {
		return false
	}
	var state byte
	err = raw.Control(func(fd uintptr) {
		n, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_INFO)
		if err == nil {
			state = binary.NativeEndian.AppendUint32(nil, uint32(n))[0] // the first field of struct tcp_info
		}
	})
	return err == nil && (state == tcpClose || state == tcpCloseWait)
}

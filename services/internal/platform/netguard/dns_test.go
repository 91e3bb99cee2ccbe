package netguard

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// records is one answer of the stub server: addresses, maybe behind an alias.
type records struct {
	cname   string
	a, aaaa []string
}

// stubDNS is a name server that lives in memory. A name with several answers
// gives them one after the other to A queries, and stays with the last.
type stubDNS struct {
	t       *testing.T
	mu      sync.Mutex
	answers map[string][]records
	serving sync.WaitGroup
}

func newStubDNS(t *testing.T, answers map[string][]records) *stubDNS {
	s := &stubDNS{t: t, answers: answers}
	t.Cleanup(s.serving.Wait)
	return s
}

// resolver returns Go's own resolver with the stub as its only server. A pipe
// is no packet connection, so messages are framed as over TCP.
func (s *stubDNS) resolver() *net.Resolver {
	return &net.Resolver{
		PreferGo: true,
		Dial: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			s.serving.Go(func() { s.serve(server) })
			return client, nil
		},
	}
}

func (s *stubDNS) serve(conn net.Conn) {
	defer conn.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		reply := s.reply(query)
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)); err != nil {
			return
		}
	}
}

func (s *stubDNS) reply(query []byte) []byte {
	var msg dnsmessage.Message
	if err := msg.Unpack(query); err != nil || len(msg.Questions) != 1 {
		s.t.Errorf("stub DNS: bad query: %v", err)
		return nil
	}
	q := msg.Questions[0]
	rec, known := s.take(strings.ToLower(strings.TrimSuffix(q.Name.String(), ".")), q.Type == dnsmessage.TypeA)
	msg.Response, msg.Authoritative, msg.Additionals = true, true, nil
	if !known {
		msg.RCode = dnsmessage.RCodeNameError
	}
	owner := q.Name
	if rec.cname != "" {
		target := dnsmessage.MustNewName(rec.cname + ".")
		msg.Answers = append(msg.Answers, answer(owner, dnsmessage.TypeCNAME, &dnsmessage.CNAMEResource{CNAME: target}))
		owner = target
	}
	switch q.Type {
	case dnsmessage.TypeA:
		for _, a := range rec.a {
			msg.Answers = append(msg.Answers, answer(owner, q.Type, &dnsmessage.AResource{A: netip.MustParseAddr(a).As4()}))
		}
	case dnsmessage.TypeAAAA:
		for _, a := range rec.aaaa {
			msg.Answers = append(msg.Answers, answer(owner, q.Type, &dnsmessage.AAAAResource{AAAA: netip.MustParseAddr(a).As16()}))
		}
	}
	reply, err := msg.Pack()
	if err != nil {
		s.t.Errorf("stub DNS: %v", err)
	}
	return reply
}

func (s *stubDNS) take(name string, advance bool) (records, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.answers[name]
	if len(list) == 0 {
		return records{}, false
	}
	if advance && len(list) > 1 {
		s.answers[name] = list[1:]
	}
	return list[0], true
}

func answer(name dnsmessage.Name, kind dnsmessage.Type, body dnsmessage.ResourceBody) dnsmessage.Resource {
	return dnsmessage.Resource{
		Header: dnsmessage.ResourceHeader{Name: name, Type: kind, Class: dnsmessage.ClassINET},
		Body:   body,
	}
}

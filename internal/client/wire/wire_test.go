package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

func TestNextUnderstands(t *testing.T) {
	long := strings.Repeat("x", 5000)
	tests := []struct {
		name, in string
		want     Reply
	}{
		{"a result", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", Reply{Status: 200}},
		{"no reason phrase", "HTTP/1.1 204\r\n\r\n", Reply{Status: 204}},
		{"empty reason phrase", "HTTP/1.1 204 \r\n\r\n", Reply{Status: 204}},
		{"a refusal", "HTTP/1.1 503 Service Unavailable\r\nretry-after: 7\r\nX-Do-Not-Retry: true\r\nContent-Length: 3\r\n\r\nabc",
			Reply{Status: 503, RetryAfter: []byte("7"), DoNotRetry: true, Body: []byte("abc")}},
		{"chunks", "HTTP/1.1 500 x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n",
			Reply{Status: 500, Body: []byte("abc0123456789")}},
		{"the end of the connection ends the body", "HTTP/1.1 500 x\r\n\r\nabc", Reply{Status: 500, Close: true, Body: []byte("abc")}},
		{"version 1.0 closes", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", Reply{Status: 200, Close: true}},
		{"connection: close among others", "HTTP/1.1 200 OK\r\nConnection: foo, Close\r\nContent-Length: 0\r\n\r\n", Reply{Status: 200, Close: true}},
		{"informational responses first", "HTTP/1.1 103 Early\r\nRetry-After: 9\r\n\r\nHTTP/1.1 202 ok\r\nContent-Length: 0\r\n\r\n", Reply{Status: 202}},
		{"equal lengths twice", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", Reply{Status: 200}},
		{"the first Retry-After counts", "HTTP/1.1 503 x\r\nRetry-After: 1\r\nRetry-After: 2\r\nContent-Length: 0\r\n\r\n",
			Reply{Status: 503, RetryAfter: []byte("1")}},
		{"a long body is cut in what is kept", "HTTP/1.1 503 x\r\nContent-Length: 5000\r\n\r\n" + long, Reply{Status: 503, Body: []byte(long[:MaxKept])}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for how, src := range map[string]io.Reader{
				"now and then": &hesitant{src: iotest.OneByteReader(strings.NewReader(tt.in))},
				"at once":      strings.NewReader(tt.in), "byte by byte": iotest.OneByteReader(strings.NewReader(tt.in)),
				"error with data": iotest.DataErrReader(strings.NewReader(tt.in)),
			} {
				var got Reply
				r := NewReader(src)
				if err := next(r, &got); err != nil {
					t.Fatalf("%s: %v", how, err)
				}
				if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", tt.want) {
					t.Errorf("%s: got %+v, want %+v", how, got, tt.want)
				}
				if err := next(r, &got); err != io.EOF {
					t.Errorf("%s: after the response: %v, want EOF", how, err)
				}
			}
		})
	}
}

// hesitant is not ready every second time.
type hesitant struct {
	src   io.Reader
	ready bool
}

func (h *hesitant) Read(p []byte) (int, error) {
	if h.ready = !h.ready; h.ready {
		return 0, ErrNotReady
	}
	return h.src.Read(p)
}

// next asks until there is an answer.
func next(r *Reader, reply *Reply) error {
	for {
		if err := r.Next(reply); err != ErrNotReady {
			return err
		}
	}
}

func TestNextRefuses(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	tests := []struct {
		name, in string
		want     error
	}{
		{"nothing", "", io.EOF},
		{"half a status line", "HTTP/1.1 20", io.ErrUnexpectedEOF},
		{"half a head", ok + "Content-Length: 3\r\n", io.ErrUnexpectedEOF},
		{"half a body", ok + "Content-Length: 3\r\n\r\nab", io.ErrUnexpectedEOF},
		{"half a chunk", ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nab", io.ErrUnexpectedEOF},
		{"no last chunk", ok + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n", io.ErrUnexpectedEOF},
		{"another protocol", "SSH-2.0-OpenSSH_9.2\r\n\r\n", ErrMalformed},
		{"version 2", "HTTP/2.0 200 OK\r\n\r\n", ErrMalformed},
		{"version 1.2", "HTTP/1.2 200 OK\r\n\r\n", ErrMalformed},
		{"status of letters", "HTTP/1.1 2x0 OK\r\n\r\n", ErrMalformed},
		{"status too small", "HTTP/1.1 099 OK\r\n\r\n", ErrMalformed},
		{"status of four digits", "HTTP/1.1 2000 OK\r\n\r\n", ErrMalformed},
		{"switching protocols", "HTTP/1.1 101 x\r\n\r\n", ErrMalformed},
		{"bare line feed", "HTTP/1.1 200 OK\nContent-Length: 0\n\n", ErrMalformed},
		{"no colon", ok + "Content-Length 3\r\n\r\nabc", ErrMalformed},
		{"no name", ok + ": x\r\n\r\n", ErrMalformed},
		{"space before the colon", ok + "Content-Length : 3\r\n\r\nabc", ErrMalformed},
		{"a folded line", ok + "A: b\r\n c\r\n\r\n", ErrMalformed},
		{"a control character", ok + "A: b\x00c\r\n\r\n", ErrMalformed},
		{"negative length", ok + "Content-Length: -1\r\n\r\n", ErrMalformed},
		{"signed length", ok + "Content-Length: +1\r\n\r\n", ErrMalformed},
		{"empty length", ok + "Content-Length:\r\n\r\n", ErrMalformed},
		{"endless length", ok + "Content-Length: 9999999999999999999\r\n\r\n", ErrMalformed},
		{"two lengths", ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", ErrMalformed},
		{"length and chunks", ok + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ErrMalformed},
		{"chunks in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ErrMalformed},
		{"another coding", ok + "Transfer-Encoding: gzip, chunked\r\n\r\n", ErrMalformed},
		{"chunks twice", ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ErrMalformed},
		{"chunk size of letters", ok + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", ErrMalformed},
		{"empty chunk size", ok + "Transfer-Encoding: chunked\r\n\r\n\r\n", ErrMalformed},
		{"chunk extension", ok + "Transfer-Encoding: chunked\r\n\r\n1;a=b\r\nx\r\n0\r\n\r\n", ErrMalformed},
		{"chunk too long", ok + "Transfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n0\r\n\r\n", ErrMalformed},
		{"a bad trailer", ok + "Transfer-Encoding: chunked\r\n\r\n0\r\nbad\r\n\r\n", ErrMalformed},
		{"long body", ok + "Content-Length: 8388609\r\n\r\n", ErrTooLarge},
		{"long chunk", ok + "Transfer-Encoding: chunked\r\n\r\nffffffff\r\n", ErrTooLarge},
		{"endless line", ok + "A: " + strings.Repeat("x", MaxHead), ErrTooLarge},
		{"endless head", ok + strings.Repeat("A: b\r\n", MaxHead/6+1), ErrTooLarge},
		{"endless trailer", ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat("A: b\r\n", MaxHead/6+1), ErrTooLarge},
		{"endless informational", strings.Repeat("HTTP/1.1 100 x\r\n\r\n", MaxInfo+1), ErrTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got Reply
			for _, src := range []io.Reader{strings.NewReader(tt.in), &hesitant{src: strings.NewReader(tt.in)}} {
				if err := next(NewReader(src), &got); !errors.Is(err, tt.want) {
					t.Errorf("error %v, want %v", err, tt.want)
				}
			}
		})
	}
}

// endless is a body that never ends.
type endless struct{ head io.Reader }

func (e endless) Read(p []byte) (int, error) {
	if n, err := e.head.Read(p); err == nil {
		return n, nil
	}
	return len(p), nil
}

func TestAnEndlessBodyIsCut(t *testing.T) {
	var got Reply
	err := NewReader(endless{strings.NewReader("HTTP/1.1 200 OK\r\n\r\n")}).Next(&got)
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("error %v, want %v", err, ErrTooLarge)
	}
}

func TestAReaderThatReadsNothingIsGivenUp(t *testing.T) {
	var got Reply
	if err := NewReader(readNothing{}).Next(&got); err != io.ErrNoProgress {
		t.Errorf("error %v, want %v", err, io.ErrNoProgress)
	}
}

type readNothing struct{}

func (readNothing) Read([]byte) (int, error) { return 0, nil }

func TestResponsesFollowEachOther(t *testing.T) {
	in := strings.Repeat("HTTP/1.1 202 ok\r\nContent-Length: 3\r\n\r\nabc", 100)
	r := NewReader(strings.NewReader(in))
	for i := range 100 {
		var got Reply
		if err := r.Next(&got); err != nil || got.Status != 202 {
			t.Fatalf("response %d: %+v, %v", i, got, err)
		}
	}
	if r.Buffered() {
		t.Error("bytes are left")
	}
	if len(r.buf) != startSize {
		t.Errorf("the buffer grew to %d", len(r.buf))
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	one := []byte("HTTP/1.1 503 x\r\nRetry-After: 1\r\nContent-Length: 3\r\nDate: Mon, 02 Jan 2006 15:04:05 GMT\r\n\r\nabc")
	src := bytes.NewReader(nil)
	r := NewReader(src)
	var got Reply
	allocs := testing.AllocsPerRun(100, func() {
		src.Reset(one)
		if err := r.Next(&got); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations a response", allocs)
	}
}

// FuzzNext: what is accepted, net/http accepts, and reads as the same.
func FuzzNext(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.0 503 x\r\nRetry-After: 7\r\n\r\nabc",
		"HTTP/1.1 500 x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nT: t\r\n\r\n",
		"HTTP/1.1 100 x\r\n\r\nHTTP/1.1 204 \r\nConnection: close\r\n\r\n", "HTTP/1.1 304 x\r\nContent-Length: 5\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var got, again Reply
		err := NewReader(bytes.NewReader(in)).Next(&got)
		slowly := next(NewReader(&hesitant{src: iotest.OneByteReader(bytes.NewReader(in))}), &again)
		if (err == nil) != (slowly == nil) || err == nil && fmt.Sprint(got) != fmt.Sprint(again) {
			t.Fatalf("%q: at once %+v, %v; byte by byte %+v, %v", in, got, err, again, slowly)
		}
		if err != nil {
			return
		}
		theirs := bufio.NewReader(bytes.NewReader(in))
		want, err := http.ReadResponse(theirs, nil)
		for err == nil && want.StatusCode < 200 {
			want, err = http.ReadResponse(theirs, nil)
		}
		if err != nil {
			t.Fatalf("accepted %q, but net/http says %v", in, err)
		}
		body, err := io.ReadAll(want.Body)
		if err != nil {
			t.Fatalf("accepted the body of %q, but net/http says %v", in, err)
		}
		if got.Status != want.StatusCode || got.Close != want.Close && want.ProtoMinor == 1 {
			t.Errorf("%q: status %d close %t, net/http says %d, %t", in, got.Status, got.Close, want.StatusCode, want.Close)
		}
		if got.Status >= 400 && !bytes.Equal(got.Body, body[:min(len(body), MaxKept)]) {
			t.Errorf("%q: body %q, net/http says %q", in, got.Body, body)
		}
		if string(got.RetryAfter) != want.Header.Get("Retry-After") {
			t.Errorf("%q: Retry-After %q, net/http says %q", in, got.RetryAfter, want.Header.Get("Retry-After"))
		}
	})
}

func BenchmarkNext(b *testing.B) {
	one := []byte("HTTP/1.1 202 Accepted\r\nContent-Type: application/json\r\nLocation: /v1/operations/0123456789abcdef0123456789abcdef\r\n" +
		"Date: Mon, 02 Jan 2006 15:04:05 GMT\r\nContent-Length: 61\r\n\r\n{\"id\":\"0123456789abcdef0123456789abcdef\",\"state\":\"pending\"}..")
	src := bytes.NewReader(nil)
	r := NewReader(src)
	var got Reply
	b.ReportAllocs()
	for b.Loop() {
		src.Reset(one)
		if err := r.Next(&got); err != nil {
			b.Fatal(err)
		}
	}
}

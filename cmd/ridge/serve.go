package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ridge/goharness/history/serve"
)

func serveCommand() *cli.Command {
	return &cli.Command{
		Name: "serve", Usage: "show the history in a browser, as JSON and to Prometheus, and the progress of a run",
		Description: "Answers on loopback. Other addresses need --allow-remote and a token of at least 16 characters, in a file\n" +
			"(--token-file) or in RIDGE_SERVE_TOKEN; requests carry it as Authorization: Bearer TOKEN or as password. There is no\n" +
			"encryption: put a proxy with TLS before it.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "address", Value: "127.0.0.1:8470", Usage: "HOST:PORT to listen on; port 0 takes a free one"},
			&cli.BoolFlag{Name: "allow-remote", Usage: "listen on an address that others can reach; needs a token"},
			&cli.StringFlag{Name: "token-file", Usage: "file with the token that requests must carry"},
		},
		Action: serveHistory,
	}
}

func serveHistory(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	if c.Bool("json") {
		return errors.New("--json: serve prints no document, what it serves has JSON beside each page: leave --json out")
	}
	address := c.String("address")
	loopback, err := serve.Loopback(address)
	if err != nil {
		return fmt.Errorf("--address: %w", err)
	}
	if !loopback && !c.Bool("allow-remote") {
		return fmt.Errorf("--address %s: others can reach it: give --allow-remote and a token, or listen on 127.0.0.1", address)
	}
	o := serve.Options{Remote: !loopback}
	if o.DataDir, err = dataDir(c); err != nil {
		return err
	}
	if !loopback || c.IsSet("token-file") {
		if o.Token, err = token(c.Context, c.String("token-file")); err != nil {
			return err
		}
		o.Remote = true
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("--address %s: %w", address, err)
	}
	fmt.Fprintf(c.App.ErrWriter, "ridge serve: http://%s/ shows %s (Ctrl-C ends it)\n", l.Addr(), o.DataDir)
	s := serve.Server(o)
	done := make(chan error, 1)
	go func() { done <- s.Serve(serve.Listener(l)) }()
	select {
	case err := <-done:
		return fmt.Errorf("serve: %w", err)
	case <-c.Context.Done():
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil { // who still reads is cut off
		_ = s.Close()
	}
	return nil
}

// mostToken bounds the file of a token.
const mostToken = 64 << 10

// token of a file, or a pipe as a shell's <(pass show ridge) is, or of the environment.
func token(ctx context.Context, file string) (string, error) {
	text, from := os.Getenv("RIDGE_SERVE_TOKEN"), "RIDGE_SERVE_TOKEN"
	if file != "" {
		if file == "-" {
			file = "./-" // standard input is not offered here
		}
		f, err := openInput(ctx, file)
		if err != nil {
			return "", fmt.Errorf("--token-file: %w", err)
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, mostToken+1))
		switch {
		case err != nil:
			return "", fmt.Errorf("--token-file %s: %w", file, err)
		case len(data) > mostToken:
			return "", fmt.Errorf("--token-file %s has more than %d bytes: expected a token of at least %d characters", file, mostToken, serve.LeastToken)
		}
		text, from = strings.TrimSpace(string(data)), "--token-file "+file
	}
	if text == "" {
		return "", errors.New("serve: a token is needed: --token-file FILE or RIDGE_SERVE_TOKEN")
	}
	if len(text) < serve.LeastToken {
		return "", fmt.Errorf("%s: the token has %d characters, at least %d are needed", from, len(text), serve.LeastToken)
	}
	return text, nil
}

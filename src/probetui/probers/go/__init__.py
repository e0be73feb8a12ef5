"""Go's net, net/url, net/http, crypto/tls and grpc-go, as far as probes show them."""

# Counts the words of a text. An external program: it speaks the wire protocol of docs/programs.md, and nothing else.
use strict;
use warnings;
use IO::Socket::UNIX;

my ($path) = ($ENV{PONDAGE_QUEUE} // '') =~ /^unix:(.+)$/ or die "start me by a worker\n";
my $worker = IO::Socket::UNIX->new(Type => SOCK_STREAM, Peer => $path) or die "no worker at $path: $!\n";

sub receive {
    my ($size) = @_;
    my $found = '';
    while (length($found) < $size) {
        read($worker, $found, $size - length($found), length($found)) or die "the worker has hung up\n";
    }
    return $found;
}

# Say a verb with a frame, and answer the frame that comes back.
sub ask {
    my ($verb, $port, $frame) = @_;
    my $header = sprintf '{"verb":"%s","port":"%s","body":%d}', $verb, $port, length $frame;
    print {$worker} pack('N', length $header), $header, $frame;
    $worker->flush;
    my $answer = receive(unpack 'N', receive(4));
    my ($size) = $answer =~ /"body":(\d+)/;
    my $body = receive($size // 0);
    die "refused: $answer\n" if $answer =~ /"verb":"error"/;
    return $body;
}

exit 0 if ask('take', '', '') eq "\x01";
my ($lines, $words) = (0, 0);
while ((my $frame = ask('pop', 'text', '')) ne "\x01") {
    ask('health', '', sprintf "\x00%d", (time + 60) * 1000);
    my $text = substr $frame, 1;
    $lines += () = $text =~ /\n/g;
    $words += () = $text =~ /\S+/g;
    ask('put', 'loud', "\x00" . uc $text);
}
ask('put', 'counts', sprintf "\x00{\"lines\": %d, \"words\": %d}", $lines, $words);
ask('close', $_, '') for qw(counts loud);

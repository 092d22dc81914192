# Homebrew formula of Windlass {{.Version}}, made with the release. Put it into a tap, or run: brew install --formula ./windlass.rb
class Windlass < Formula
  desc "Runs the turns of AI agents so that they survive crashes"
  homepage "https://github.com/windlass-dev/windlass"
  version "{{.Number}}"
  license "Apache-2.0"
{{range .Systems}}
  on_{{.Homebrew}} do
{{- range .Archives}}
    on_{{.Homebrew}} do
      url "{{$.Releases}}/{{$.Version}}/{{.Name}}"
      sha256 "{{.Sum}}"
    end
{{- end}}
  end
{{end}}
  def install
    libexec.install Dir["*"]
    bin.install_symlink libexec/"windlass"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/windlass version")
  end
end

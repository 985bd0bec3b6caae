#include "support/cpp_outline.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace idleburn::testing {
namespace {

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Replaces by blanks what is no code, and what is no comment. Literals keep their quotes.
class Blanker {
 public:
  struct Parts {
    std::string code;
    std::string comments;
  };

  explicit Blanker(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) text_ += line + "\n";
    for (const char c : text_) comments_ += c == '\n' ? c : ' ';
  }

  Parts Run() {
    while (at_ < text_.size()) Step();
    return {std::move(text_), std::move(comments_)};
  }

 private:
  void Step() {
    const std::string_view rest = std::string_view(text_).substr(at_);
    if (StartsWith(rest, "//")) {
      Comment(text_.find('\n', at_));
    } else if (StartsWith(rest, "/*")) {
      Comment(EndAfter("*/", at_ + 2));
    } else if (StartsWith(rest, "R\"")) {
      const std::size_t open = text_.find('(', at_);
      const std::string close = ")" + text_.substr(at_ + 2, open - at_ - 2) + "\"";
      BlankTo(EndAfter(close, open));
    } else if (rest.front() == '"') {
      Literal('"');
    } else if (rest.front() == '\'' && (at_ == 0 || !IsWord(text_[at_ - 1]))) {  // else a digit separator
      Literal('\'');
    } else {
      ++at_;
    }
  }
  void Literal(char quote) {
    for (++at_; at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n'; ++at_) {
      const bool escape = text_[at_] == '\\';
      text_[at_] = ' ';
      if (escape && at_ + 1 < text_.size()) text_[++at_] = ' ';
    }
    ++at_;
  }
  [[nodiscard]] std::size_t EndAfter(std::string_view close, std::size_t from) const {
    const std::size_t found = text_.find(close, from);
    return found == std::string::npos ? text_.size() : found + close.size();
  }
  void Comment(std::size_t end) {
    const std::size_t length = std::min(end, text_.size()) - at_;
    comments_.replace(at_, length, text_, at_, length);
    BlankTo(end);
  }
  void BlankTo(std::size_t end) {
    for (end = std::min(end, text_.size()); at_ < end; ++at_) {
      if (text_[at_] != '\n') text_[at_] = ' ';
    }
  }

  std::string text_;
  std::string comments_;
  std::size_t at_ = 0;
};

bool HasWord(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !IsWord(text[at - 1])) && (end == text.size() || !IsWord(text[end]))) return true;
  }
  return false;
}

enum class Block { kNamespace, kClass, kInitializer, kMemberInitializer, kFunction };

Block KindOf(std::string_view head) {
  if (HasWord(head, "namespace") || StartsWith(head, "extern ")) {
    return head.find('(') == std::string_view::npos ? Block::kNamespace : Block::kFunction;
  }
  const std::size_t parenthesis = head.find('(');
  const bool call = parenthesis != std::string_view::npos;
  if (call && head.find(") :") != std::string_view::npos && IsWord(head.back())) return Block::kMemberInitializer;
  for (const std::string_view word : {"class", "struct", "union", "enum"}) {
    if (HasWord(head, word) && !call) return Block::kClass;
  }
  const bool assigned = head.find('=') < parenthesis && !HasWord(head.substr(0, parenthesis), "operator");
  return assigned || !call ? Block::kInitializer : Block::kFunction;
}

// Walks the code once, keeping the stack of open braces.
class Outliner {
 public:
  explicit Outliner(const std::vector<std::string>& code) : code_(code) {}

  Outline Run() {
    for (line_ = 1; line_ <= code_.size(); ++line_) {
      const std::string& line = code_[line_ - 1];
      if (continued_ || StartsWith(line, "#")) {  // preprocessor
        continued_ = EndsWith(line, "\\");
        continue;
      }
      for (const char c : line) Take(c);
      Take(' ');
    }
    return std::move(outline_);
  }

 private:
  struct Open {
    Block kind;
    std::size_t first_line;
  };

  void Take(char c) {
    if (c == '(') ++parentheses_;
    if (c == ')') --parentheses_;
    if (c == '{' && parentheses_ == 0) {
      OpenBrace();
    } else if (c == '}' && parentheses_ == 0) {
      CloseBrace();
    } else if (c == ';' && parentheses_ == 0) {
      EndStatement();
    } else if (c != ' ' || (!head_.empty() && head_.back() != ' ')) {
      if (head_.empty()) head_line_ = line_;
      head_ += c;
    }
  }
  void OpenBrace() {
    const Block kind = InFunction() ? Block::kFunction : KindOf(head_);
    if (kind == Block::kMemberInitializer) {
      head_ += '{';  // the head goes on
    } else if (kind == Block::kInitializer || InFunction()) {
      EndStatement();
    } else {
      head_.clear();
    }
    open_.push_back({kind, head_line_});
  }
  void CloseBrace() {
    if (open_.empty()) return;
    const Open closed = open_.back();
    open_.pop_back();
    if (closed.kind == Block::kMemberInitializer) {
      head_ += '}';
      return;
    }
    if (closed.kind == Block::kFunction && !InFunction()) outline_.functions.push_back({closed.first_line, line_});
    head_.clear();
  }
  void EndStatement() {
    const bool initializer = !open_.empty() && open_.back().kind == Block::kInitializer;
    if (!head_.empty() && !initializer) {
      bool outside = true;
      for (const Open& open : open_) outside = outside && open.kind == Block::kNamespace;
      (outside ? outline_.at_namespace : outline_.inside_braces).push_back({head_line_, head_});
    }
    head_.clear();
  }
  [[nodiscard]] bool InFunction() const {
    for (const Open& open : open_) {
      if (open.kind == Block::kFunction) return true;
    }
    return false;
  }

  const std::vector<std::string>& code_;
  Outline outline_;
  std::vector<Open> open_;
  std::string head_;
  std::size_t head_line_ = 1;
  std::size_t line_ = 1;
  int parentheses_ = 0;
  bool continued_ = false;
};

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  lines.pop_back();
  return lines;
}

}  // namespace

std::vector<std::string> CodeOf(const SourceFile& file) { return LinesOf(Blanker(file.lines).Run().code); }

std::vector<std::string> CommentsOf(const SourceFile& file) { return LinesOf(Blanker(file.lines).Run().comments); }

Outline OutlineOf(const SourceFile& file) {
  const std::vector<std::string> code = CodeOf(file);
  return Outliner(code).Run();
}

}  // namespace idleburn::testing
